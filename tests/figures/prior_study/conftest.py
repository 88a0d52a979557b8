"""A short study of all four priors, run once."""

import pytest

from prior_study import StudyConfig, run


@pytest.fixture(scope="session")
def config():
    """Few networks, fitted briefly to fewer points than the paper's."""
    return StudyConfig(
        members=16, epochs_scale=0.1, prior_points=160, functions=200, grid_points=41, seed=3
    )


@pytest.fixture(scope="session")
def study(config):
    """What it finds."""
    return run(config)
