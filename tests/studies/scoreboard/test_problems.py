import pytest

from figures.pipeline.paths import SHIPPED_TABLES
from studies.scoreboard.problems import CASES, composite

SIZES = {"test_uniform": 50, "train_beta": 50, "train_uniform": 100}


@pytest.fixture
def tables(tmp_path):
    """Write the first RVEs of the shipped draws as `fe_data generate` writes tables."""

    def tables(draws):
        folder = tmp_path / "fresh"
        for design, size in SIZES.items():
            text = (SHIPPED_TABLES / "draws" / f"{design}.csv").read_text(encoding="utf-8")
            path = folder / "draws" / design / "dataset.csv"
            path.parent.mkdir(parents=True)
            rows = text.splitlines(keepends=True)[: 1 + int(draws * size)]
            path.write_text("".join(rows), encoding="utf-8")
        return folder

    return tables


@pytest.mark.slow
def test_tables_of_a_folder_give_it_its_name_and_as_many_splits_as_they_have_draws(tables):
    by_name = {problem.name: problem for problem in composite(tables(draws=2.5))}
    assert {name: problem.splits for name, problem in by_name.items()} == {
        f"fresh/{case}": 2 for case in CASES
    }
    shipped = {problem.name: problem for problem in composite()}
    assert {problem.splits for problem in shipped.values()} == {24}
    split = by_name["fresh/outd"].split(1)
    assert split.digest == shipped["composite/outd"].split(1).digest
    assert split.digest != by_name["fresh/outd"].split(0).digest
    assert split.data["X"].shape == (50, 4)
    assert by_name["fresh/ind25"].split(0).data["y"].shape == (25, 5)
