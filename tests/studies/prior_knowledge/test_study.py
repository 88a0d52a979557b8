"""What knowledge is worth: scores over draws, and errors in numbers of RVEs."""

import numpy as np
import pytest

from figures.composite.draws import load_draws
from figures.composite.problem import load_designs, scaled
from figures.composite.reference import Reference
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.profiles import load_profile
from figures.pipeline.settings import PriorKnowledge
from studies.prior_knowledge.study import (
    MODELS,
    equivalent_rves,
    judge,
    noises,
    posterior,
    training_sets,
)

COUNTS = PriorKnowledge().counts


@pytest.fixture(scope="module")
def draws():
    return load_draws(SHIPPED_TABLES, load_profile("full"))


@pytest.fixture(scope="module")
def kinds():
    table = load_designs(SHIPPED_TABLES, ["noise"])["noise"]
    return noises(scaled(table), table.group)


def test_the_first_draw_is_the_shipped_tables_and_smaller_sets_are_its_first_rves(draws):
    sets = training_sets(draws[0], COUNTS)
    assert len(draws) == 24
    assert [len(rves) for rves in sets.values()] == [*COUNTS, 50]
    shipped = scaled(load_designs(SHIPPED_TABLES, ["train_uniform"])["train_uniform"])
    for count in COUNTS:
        np.testing.assert_array_equal(sets[f"ind{count}"].y, shipped.y[:count])


@pytest.mark.usefixtures("few_draws")
def test_scores_at_rves_and_against_the_reference_data_are_those_of_the_predictions(draws, kinds):
    draw = draws[1]
    from_evidence = MODELS["evidence"]
    model = posterior(
        from_evidence, training_sets(draw, COUNTS)["ind10"], kinds[from_evidence.noise], None
    )
    reference = Reference(draw.test.X, model.predict(draw.test.X), np.full((50, 5), 1e-6))
    judged = judge(model, draw.test, reference)
    assert judged.reference_rmse == judged.reference_rmse_fields == 0.0
    assert judged.reference_coverage == 1.0
    error = model.predict(draw.test.X) - draw.test.y
    assert judged.rmse == pytest.approx(np.sqrt(np.mean(error**2)))


@pytest.mark.parametrize(
    ("error", "rves"), [(0.1, 10.0), (0.05, 20.0), (0.01, 100.0), (0.2, 0.0), (0.005, np.inf)]
)
def test_an_error_is_worth_the_rves_that_another_method_needs_for_it(error, rves):
    errors = {count: 1.0 / count for count in COUNTS}
    assert equivalent_rves(error, errors) == pytest.approx(rves)
