"""Scores of predictions and repeated trainings."""

import numpy as np
import pytest

from bnn.metrics import elppd
from figures.materials import fit_theta, load_samples, noise_std
from figures.metrics import improvements, score_rows, spread, write_json
from figures.profiles import Case, Surrogate
from figures.surrogate import Prediction, repeat_training, seeds_of

BRIEF = Surrogate(
    cases={"outd": Case("train_beta", 10)},
    repeats=2, n_pretrained=4, n_members=3, prior_points=30, pretrain_epochs=2, epochs=2,
)  # fmt: skip


def prediction(shift=0.0, members=30, cells=50):
    rng = np.random.default_rng(0)
    observed = rng.uniform(-1, 1, (cells, 5))
    return Prediction(observed + shift + 0.1 * rng.normal(size=(members, cells, 5)), observed)


def test_change_of_units_shifts_the_elppd_by_a_constant():
    shown = prediction()
    scaled = elppd(shown.observed, shown.samples, noise_std())
    # 50 cells: 50 Σ log of the half ranges
    assert scaled - shown.elppd() == pytest.approx(93.935, abs=2e-3)


def test_a_biased_prediction_scores_worse_in_every_respect():
    good, biased = prediction().scores(), prediction(shift=0.5).scores()
    assert biased["rmse"] > good["rmse"]
    assert biased["miscalibration"] > good["miscalibration"]
    assert biased["elppd"] < good["elppd"]


def test_overall_rmse_is_the_root_mean_square_of_those_by_output():
    shown = prediction(shift=0.2)
    by_output = shown.rmse_by_output()
    assert shown.scores()["rmse"] == pytest.approx(np.sqrt(np.mean(by_output**2)))


def test_seeds_of_repeats_differ_and_do_not_depend_on_their_number():
    assert len(set(seeds_of(1, 50))) == 50
    assert seeds_of(1, 3) == seeds_of(1, 50)[:3]


@pytest.fixture(scope="module")
def repeats(tables):
    train_set, test_set = (load_samples(tables, d) for d in ("train_beta", "test_uniform"))
    return repeat_training({"outd": train_set}, test_set, fit_theta(train_set), BRIEF, seed=5)


def test_each_repeat_predicts_with_every_method(repeats):
    assert [sorted(r) for r in repeats] == [["outd_anchored", "outd_vanilla", "prior"]] * 2
    assert repeats[0]["outd_anchored"].samples.shape == (3, 6, 5)


def test_repeats_differ_from_each_other(repeats):
    first, second = (r["outd_anchored"].samples for r in repeats)
    assert np.abs(first - second).max() > 1e-3


def test_metrics_of_identical_methods_show_no_improvement():
    rows = score_rows([{"a_anchored": prediction(), "a_vanilla": prediction()}])
    for by_output in improvements(rows, "a").values():
        np.testing.assert_allclose(list(by_output.values()), 0, atol=1e-12)


def test_spread_of_one_value_has_no_standard_deviation():
    assert spread([2.0]) == {"mean": 2.0, "std": None, "values": [2.0]}
    assert spread([1.0, 3.0])["std"] == pytest.approx(np.sqrt(2))


def test_metrics_that_are_not_finite_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"m\.json: rows: rmse = nan is not finite"):
        write_json(tmp_path / "m.json", {"rows": {"rmse": float("nan")}})
    assert not list(tmp_path.iterdir())
