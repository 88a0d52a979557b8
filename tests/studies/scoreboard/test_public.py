import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import train_test_split

from studies.scoreboard import public
from studies.scoreboard.scores import scores


def test_test_rows_are_those_of_the_file_and_all_others_are_training_rows(folder):
    rows = np.loadtxt(folder / "made" / "data.csv", delimiter=",", skiprows=1)
    split = {problem.name: problem for problem in public.problems(folder)}["made/standard"].split(1)
    tested = np.isin(np.arange(12), [3, 11, 1])
    train = rows[~tested]
    X = (train[:, :-1] - train[:, :-1].mean(axis=0)) / train[:, :-1].std(axis=0)
    np.testing.assert_allclose(split.data["X"], X)
    back = split.y_test[:, 0] * split.unit + train[:, -1].mean()
    np.testing.assert_allclose(back, rows[tested, -1])
    assert split.data["bounds"].shape == (2, 3)


def test_an_input_that_a_split_leaves_constant_stays_finite(folder):
    split = {problem.name: problem for problem in public.problems(folder)}["made/gap"].split(0)
    assert not split.data["X"][:, 2].any()
    assert np.all(split.data["bounds"][1] > split.data["bounds"][0])


def test_a_set_of_one_file_has_the_split_of_scikit_learn(folder):
    rows = np.loadtxt(folder / "one.csv", delimiter=",", skiprows=1)
    train, test = train_test_split(rows, test_size=0.2, random_state=0)
    split = {problem.name: problem for problem in public.problems(folder)}["one/holdout"].split(0)
    y = (test[:, 1] - train[:, 1].mean()) / train[:, 1].std()
    np.testing.assert_allclose(np.sort(split.y_test[:, 0]), np.sort(y))
    assert split.unit == 1.0
    assert split.log_units == 0.0


def test_scores_are_in_the_units_of_y(folder):
    split = {problem.name: problem for problem in public.problems(folder)}["made/standard"].split(0)
    n = len(split.y_test)
    predicted = {
        "mean": np.full((n, 1), 0.3),
        "std": np.full((n, 1), 0.8),
        "fit": 1.0,
        "predict": 0.0,
    }
    row = scores(split, predicted)
    rows = np.loadtxt(folder / "made" / "data.csv", delimiter=",", skiprows=1)
    train = np.delete(rows, [0, 5], axis=0)[:, -1]
    y = rows[[0, 5], -1]
    density = norm(train.mean() + 0.3 * train.std(), 0.8 * train.std())
    assert row["loglik"] == pytest.approx(density.logpdf(y).mean())
    assert row["rmse"] == pytest.approx(np.sqrt(np.mean((y - density.mean()) ** 2)))
    z = (y - density.mean()) / density.std()
    # Gneiting & Raftery (2007), equation 21
    crps = density.std() * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert row["crps"] == pytest.approx(crps.mean())
    assert row["coverage"] == np.mean(np.abs(z) < 1.959964)
    judged = scores(split, predicted | {"elppd": 3.0})
    assert judged["loglik"] == pytest.approx(3.0 / n - np.log(train.std()))
    assert judged["normal"] == row["loglik"]
    assert "normal" not in row


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("made/standard.json", "[[1, 2", ValueError, "standard.json: must be JSON"),
        ("made/standard.json", "[[1, 12]]", ValueError, r"row 12: must be .* in 0 \.\.\. 11"),
        ("made/data.csv", "x0,y\n1,2\n3,many\n4,5\n", ValueError, "column y is 'many'"),
        ("made/data.csv", None, FileNotFoundError, "data.csv is missing"),
    ],
)
def test_what_is_not_of_the_form_is_refused_by_name(folder, name, text, error, message):
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(text)
    with pytest.raises(error, match=message):
        public.problems(folder)


def test_published_scores_are_those_of_problems_that_are_there(folder):
    rows = public.published(folder, public.problems(folder))
    by_problem = {(row["problem"], row["published"]): row for row in rows}
    assert set(by_problem) == {
        ("made/standard", "Ensemble"),
        ("one/holdout", "bde"),
        ("one/holdout", "trees"),
    }
    assert by_problem["made/standard", "Ensemble"]["loglik"] == [-3.5, 0.3]
    assert by_problem["made/standard", "Ensemble"]["splits"] == 2
    assert by_problem["one/holdout", "bde"]["loglik"] == [0.7, None]
    assert "loglik" not in by_problem["one/holdout", "trees"]
