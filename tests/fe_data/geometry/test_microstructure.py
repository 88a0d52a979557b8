"""Random periodic fibres: exact volume fraction, spacing, clearance, limits."""

import numpy as np
import pytest

from fe_data.geometry.microstructure import (
    largest_volume_fraction,
    periodic_distances,
    random_microstructure,
)


@pytest.mark.parametrize(
    ("vf", "n", "spacing"),
    [
        (0.05, 30, 1.14),
        (0.40, 30, 1.14),
        (0.50, 30, 1.14),
        (0.50, 30, 1.2),
        (0.3, 1, 1.14),
        (0.4, 7, 1.0),
    ],
)
def test_volume_fraction_and_spacing_are_exact(vf, n, spacing):
    m = random_microstructure(vf, seed=1, n_fibres=n, min_spacing=spacing)
    assert len(m.centres) == n
    assert m.volume_fraction == pytest.approx(vf, rel=1e-14)
    distances = periodic_distances(m.centres, m.centres) + 9.0 * np.eye(n)
    assert distances.min() >= 2 * m.radius * spacing * (1 - 1e-12)
    assert m.centres.min() >= 0
    assert m.centres.max() < 1


@pytest.mark.parametrize("seed", range(20))
def test_no_outline_grazes_an_edge(seed):
    m = random_microstructure(0.3, seed)
    tangents = np.concatenate([m.centres - m.radius, m.centres + m.radius])
    clearance = np.abs(tangents - np.round(tangents)).min()
    assert clearance > 0.005  # the widest of 60 gaps, halved; a random pattern reaches 1e-4


def test_the_seed_decides():
    a, b, c = (random_microstructure(0.3, seed).centres for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_a_volume_fraction_of_zero_has_no_fibres():
    assert len(random_microstructure(0.0, 1).centres) == 0


def test_an_infeasible_request_is_refused_with_the_limit():
    limit = largest_volume_fraction(30, 1.3)
    with pytest.raises(ValueError, match=rf"vf = 0\.49 is out of range.*vf <= {limit:.4f}"):
        random_microstructure(0.49, 1, min_spacing=1.3)
    assert random_microstructure(0.98 * limit, 1, min_spacing=1.3).volume_fraction > 0.46


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 13, 30, 60])
def test_everything_below_the_limit_is_found(n):
    vf = 0.999 * largest_volume_fraction(n, 1.14)
    assert random_microstructure(vf, 5, n_fibres=n).volume_fraction == pytest.approx(vf)
