"""The methods on the one-dimensional example."""

from figures.beyond.other_methods.weights import METHODS


def test_functional_anchoring_comes_as_near_as_exact_draws(results):
    """And every method in weight space stays farther away."""
    away = {name: row.mean.mean for name, row in results.example["L = 1"].items()}
    assert max(away["function"], away["sampled"]) < 0.2 * min(away[name] for name in METHODS)
    assert away["exact"] == 0
