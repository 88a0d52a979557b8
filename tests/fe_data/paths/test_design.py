"""Sets of RVEs with paths of their own."""

import numpy as np
import pytest

from fe_data.paths.design import AMPLITUDE, PATH_SETS, cycle, path_design, random_path


def test_paths_have_their_amplitude_and_begin_at_rest():
    rng = np.random.default_rng(0)
    paths = np.array([random_path(rng) for _ in range(400)])
    half = (paths[..., 0] - paths[..., 1]) / 2
    volume = paths[..., 0] + paths[..., 1]
    for values, deviation in ((half, 1.0), (paths[..., 2], 1.0), (volume, 0.2)):
        assert values[:, 60:].std() == pytest.approx(deviation * AMPLITUDE, rel=0.1)
        assert values[:, 0].std() < 0.1 * deviation * AMPLITUDE
    turns = (np.diff(np.sign(np.diff(half, axis=1)), axis=1) != 0).sum(1)
    assert turns.mean() > 1.5  # they unload


def test_a_cycle_goes_to_its_end_to_the_opposite_and_back():
    path = cycle(np.random.default_rng(1))
    first, second, third = np.array(path.strain, dtype=float)
    assert (first == -second).all()
    assert (first == third).all()
    assert sum(path.increments) == 100
    shears = np.array([(first[0] - first[1]) / 2, first[2]])
    assert np.sqrt((shears**2).mean()) == pytest.approx(AMPLITUDE)


@pytest.mark.parametrize("name", PATH_SETS)
def test_a_smaller_set_is_the_beginning_of_a_larger_one(name):
    small = path_design(name, count=2)
    large = path_design(name, count=3, replicates=1)
    repeats = PATH_SETS[name].replicates
    assert len(small) == 2 * repeats
    assert (small.inputs[::repeats] == large.inputs[:2]).all()
    assert small.sample(repeats).loading == large.sample(1).loading
    assert small.sample(0).loading == small.sample(repeats - 1).loading
    assert small.sample(0).seed != small.sample(1).seed
    if name != "reference_tension":
        assert small.sample(0).loading != small.sample(repeats).loading
