"""The table of a notebook's section: numbers, claims and verdicts as on the page."""

import json

import pytest

from figures.pipeline.dependencies import notebook_sources
from figures.pipeline.paths import NOTEBOOKS, REFERENCE, ROOT
from figures.report.verdicts import verdict_table

STUDY = "01_prior_study"
CLAIM = {"id": "D", "about": "Fig. 4", "ours": {"D": 2.0}, "holds": False}


def file(folder, **changes):
    path = folder / f"{STUDY}.json"
    content = {**json.loads((REFERENCE / path.name).read_text()), **changes}
    path.write_text(json.dumps(content))
    return path


def test_a_number_has_the_digits_and_the_verdict_of_its_tolerance(tmp_path):
    """The variance of W0 of prior B is printed as 2.1 with a scatter of 0.279 of one start."""
    table = json.loads((REFERENCE / f"{STUDY}.json").read_text())["table_1"]
    for ours, verdict in ((0.0029, "✓ reproduced"), (0.0030, "✗ differs")):
        table["published"]["B"]["W0"] = {"value": ours, "error": 0.0001}
        shown = verdict_table(file(tmp_path, table_1=table), "Table 1").data.set_index("what")
        row = shown.loc["Table 1: prior B, published optimiser, W0 [10⁻³]"]
        assert [*row] == ["2.1", f"{1e3 * ours:.2f} ± 0.10", verdict]
    assert not [what for what in shown.index if "Adam proper" in what]  # it is not judged


@pytest.mark.parametrize(
    ("holds", "verdict"), [(True, "✓ reproduced"), (False, "✗ differs"), (None, "○ open")]
)
def test_a_claim_stands_in_words_with_its_numbers(tmp_path, holds, verdict):
    claim = CLAIM | {"claim": "A <B", "holds": holds, "ours": {"low_rank": 0.25}}
    shown = verdict_table(file(tmp_path, claims=[claim]), "Fig. 4")
    assert shown.data.to_numpy().tolist() == [
        ["Fig. 4", "A <B", "multivariate Gaussian: 0.250", verdict]
    ]
    assert "A &lt;B" in shown.to_html()


def test_a_small_run_has_the_full_run_and_its_verdicts_beside_it(tmp_path, monkeypatch):
    """A claim that names its own number of starts is the same claim."""
    full = CLAIM | {"claim": "D is least of its 10 starts", "holds": True}
    monkeypatch.setattr("figures.report.verdicts.REFERENCE", tmp_path / "full")
    (tmp_path / "full").mkdir()
    file(tmp_path / "full", claims=[full, CLAIM | {"id": "large", "claim": "Only large"}])
    small = [
        CLAIM | {"claim": "D is least of its 3 starts", "ours": {"D": 3.0}},
        CLAIM | {"id": "small", "claim": "Only small"},
    ]
    shown = verdict_table(file(tmp_path, claims=small, paper_size=False), "Fig. 4").data
    assert [*shown.columns[2:]] == ["ours, this small run", "full run", "verdict on the full run"]
    assert shown.to_numpy()[:, 1:].tolist() == [
        ["D is least of its 10 starts", "D: 3.00", "D: 2.00", "✓ reproduced"],
        ["Only large", "", "D: 2.00", "✗ differs"],
        ["Only small", "D: 2.00", "", ""],
    ]


def test_draws_alone_have_the_numbers_of_their_table():
    shown = verdict_table(REFERENCE / "04_materials_draws.json", "Table 3").data
    assert "Table 3: OutD (N = 50), vanilla, RMSE" in [*shown["what"]]


def test_a_place_that_the_paper_does_not_have_is_refused():
    with pytest.raises(KeyError, match=r"Fig\. 15"):
        verdict_table(REFERENCE / f"{STUDY}.json", "Fig. 15")


def test_a_notebook_does_not_depend_on_the_page():
    for path in NOTEBOOKS.glob("*.ipynb"):
        files = {str(file.relative_to(ROOT)) for file in notebook_sources(path)}
        assert not files & {f"figures/report/{name}.py" for name in ("page", "findings", "summary")}
