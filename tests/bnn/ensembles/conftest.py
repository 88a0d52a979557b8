"""Which checks of the estimators are slow."""

import pytest

# scikit-learn's checks of estimators that fit 200 data of 10 inputs, by evidence for 5 to 10 s.
LARGE_CHECKS = ("check_regressors_train", "check_regressor_data_not_an_array")


@pytest.hookimpl(tryfirst=True)  # before the tests are chosen by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if any(check in item.name for check in LARGE_CHECKS):
            item.add_marker(pytest.mark.slow)
