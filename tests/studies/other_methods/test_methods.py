"""Methods of notebook 05 on the one-dimensional example."""

import pytest

from figures.pipeline.settings import Case, OtherMethods
from studies.other_methods.example_1d import run_example
from studies.other_methods.weights import METHODS

CASES = {"outd": ("train_beta", 10), "ind25": ("train_uniform", 4)}
SETTINGS = OtherMethods(
    cases={name: Case(design=design, count=count) for name, (design, count) in CASES.items()},
    n_members=3,
    n_pretrained=4,
    function_points=5,
    example_members=3,
    example_pretrained=4,
    example_epochs_scale=0.01,
)


@pytest.mark.slow
def test_functional_anchoring_comes_as_near_to_the_example_as_exact_draws():
    """And every method in weight space stays farther away."""
    example = run_example(SETTINGS, seed=1)["L = 1"]
    away = {name: curves.distance.mean for name, curves in example.items()}
    assert max(away["function"], away["sampled"]) < 0.2 * min(away[name] for name in METHODS)
    assert away["exact"] == 0
