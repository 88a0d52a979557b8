"""Independent draws of the tables: which RVEs each has, and what is gained."""

import numpy as np
import pytest
import yaml

from figures.composite.draws import load_draws
from figures.composite.problem import load_samples
from figures.pipeline.profiles import load_profile
from figures.repeated_datasets.draws import Gain, over_draws, scatter
from figures.scores import Interval, Scores
from tests.figures.conftest import write_table


def test_each_draw_takes_the_next_rves_and_needs_them(profile_content, tmp_path):
    """Three draws of 10 training and 6 test RVEs, and not four."""
    (tmp_path / "draws").mkdir()
    write_table(tmp_path / "draws" / "train_beta.csv", 30, seed=1)
    write_table(tmp_path / "draws" / "test_uniform.csv", 18, seed=2)
    path = tmp_path / "drawn.yaml"
    path.write_text(yaml.safe_dump(profile_content | {"draws": {"count": 3}}))
    draws = load_draws(tmp_path, load_profile(path))
    every = load_samples(tmp_path / "draws", "train_beta")
    assert [len(draw.test) for draw in draws] == [6, 6, 6]
    for i, draw in enumerate(draws):
        np.testing.assert_array_equal(draw.cases["outd"].y, every.y[10 * i : 10 * i + 10])
    path.write_text(yaml.safe_dump(profile_content | {"draws": {"count": 4}}))
    with pytest.raises(ValueError, match=r"test_uniform.csv has 18 RVEs, but 24 are needed"):
        load_draws(tmp_path, load_profile(path))


def test_each_draw_counts_once_and_scatter_is_of_single_trainings():
    def training(rmse):
        return {"a": Scores(rmse=rmse, miscalibration=0.1, elppd=1.0, coverage=0.9)}

    trainings = [[training(1.0), training(3.0)], [training(4.0), training(6.0)]]
    assert over_draws(trainings)["a"].rmse.values == (2.0, 5.0)
    assert scatter(trainings)["a"]["rmse"] == pytest.approx(np.std([1, 3, 4, 6], ddof=1))


def test_a_gain_that_grows_with_the_share_outside():
    outside = [0.1, 0.2, 0.3, 0.4]
    gain = Gain.of(Interval((-0.1, 0.1, 0.3, 0.5)), outside, printed=0.2)
    assert (gain.positive, gain.below_printed) == (3, 2)
    assert gain.slope == pytest.approx(2.0)
    assert gain.slope_half_width == pytest.approx(0.0, abs=1e-6)


def test_datasets_with_the_same_inputs_have_a_gain_but_no_slope():
    """As simulations of one set of inputs with other microstructures have."""
    gain = Gain.of(Interval((0.1, 0.3, 0.2)), [0.4, 0.4, 0.4])
    assert gain.gain.mean == pytest.approx(0.2)
    assert (gain.slope, gain.slope_half_width) == (0.0, 0.0)
