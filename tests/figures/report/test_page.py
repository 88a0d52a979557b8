"""The page of a run."""

import json
import re
import shutil

import pytest

from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import load_profile
from figures.pipeline.settings import Beyond
from figures.report.comparison import Check
from figures.report.page import inlined, main, render
from figures.report.words import brief, column_decimals, label, power

SURROGATE = "04_materials_surrogate"


@pytest.fixture
def profile(profile_file):
    return load_profile(profile_file)


@pytest.fixture
def out_dir(tmp_path, executed):
    return shutil.copytree(executed, tmp_path / "out")


def change(out_dir, name, **content):
    path = out_dir / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | content))


def apart(profile, name):
    """The profile with one more notebook, which is run on request only."""
    beyond = Beyond(cases=profile.surrogate.cases)
    update = {"notebooks": [*profile.notebooks, name], "beyond": beyond, "apart": [name]}
    return profile.model_copy(update=update)


def test_page_holds_every_picture_and_refers_to_no_other_file(profile, out_dir):
    page = render(profile, out_dir)
    sources = re.findall(r'<img src="([^"]{0,40})', page)
    listed = [json.loads((out_dir / f"{n}.json").read_text())["figures"] for n in profile.notebooks]
    assert len(sources) == sum(map(len, listed))
    assert all(source.startswith("data:image/") for source in sources)
    assert "http" not in re.sub(r'src="data:[^"]*"', "", page)


def test_page_has_every_figure_and_table_of_the_paper_under_its_number(profile, out_dir):
    page = re.sub(r"<a class=\"back\".*?</a>", "", render(profile, out_dir))
    headings = re.findall(r"<h2 id=\"[^\"]*\">((?:Fig\.|Table) \d+):", page)
    figures, tables = ([h for h in headings if h.startswith(kind)] for kind in ("Fig.", "Table"))
    assert figures == [f"Fig. {n}" for n in range(1, 15)]
    assert tables == [f"Table {n}" for n in range(1, 5)]


def test_links_lead_to_places_on_the_page_and_to_executed_notebooks(profile, out_dir):
    page = render(profile, out_dir)
    anchors = set(re.findall(r'id="([^"]*)"', page))
    pages = {f"notebooks/{name}.html" for name in profile.notebooks}  # written by `execute`
    for link in re.findall(r'href="([^"]*)"', page):
        if link.startswith("#"):
            assert link[1:] in anchors
        elif link != "data:,":
            assert link in pages


def test_page_shows_paper_and_ours_and_the_provenance(profile, out_dir):
    page = render(profile, out_dir)
    assert "OutD (N = 10, paper 50), anchored" in page
    assert "paper 0.16" in page
    assert "config sha256" in page


def test_a_small_run_shows_the_verdicts_of_the_full_run_and_none_of_its_own(
    profile, out_dir, monkeypatch, tmp_path
):
    page = render(profile, out_dir)
    assert "This run is smaller than the paper" in page
    assert "Findings of the full run" in page
    assert "Full run: <span" in page
    assert "All its numbers" in page
    monkeypatch.setattr("figures.report.page.REFERENCE", tmp_path / "nowhere")
    alone = render(profile, out_dir)
    assert not re.search(r"<td[^>]*>[^<]*<span[^>]*>[✓~○✗]", alone)
    assert "not comparable</span>" in alone
    assert "All its numbers" not in alone
    assert "Where the published code differs from the paper" in alone


def test_a_small_run_gives_the_advice_of_the_full_run(profile, out_dir):
    name = "05_beyond_the_paper"
    tables = [{"caption": "Scores", "header": ["method"], "rows": [["exact"]]}]
    (out_dir / f"{name}.json").write_text(json.dumps({"title": "Beyond", "tables": tables}))
    page = render(apart(profile, name), out_dir)
    assert "What to use: functional anchoring" in page


def test_the_page_has_words_in_place_of_names_of_the_metrics(profile, out_dir):
    page = render(profile, out_dir)
    shown = re.sub(r"<[^>]*>", " ", page[page.index("<body>") : page.index('id="provenance"')])
    assert not re.findall(r"\w+_[MG]Pa|\bind\d+|\boutd\b|generalised_normal|p_sigma", shown)


def test_conclusions_come_before_the_contents_and_every_section_leads_back(profile, out_dir):
    page = render(profile, out_dir)
    assert page.index('id="findings"') < page.index('id="contents"') < page.index('id="fig-1"')
    sections = re.findall(r"<h2 id=.*", page)[2:]
    assert len(sections) > 18
    assert all('href="#contents"' in section for section in sections)
    linked = re.findall(r'href="#([^"]*)"', page[page.index('id="contents"') :])
    assert set(re.findall(r'<h2 id="([^"]*)"', page)) - set(linked) == {"findings"}


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_a_missing_or_empty_picture_is_refused(profile, out_dir, content):
    (out_dir / "fig14_calibration.svg").unlink()
    if content is not None:
        (out_dir / "fig14_calibration.svg").write_bytes(content)
    with pytest.raises(ValueError, match=r"fig14_calibration\.svg is missing or empty"):
        render(profile, out_dir)


def test_a_file_outside_the_folder_is_not_shown(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "precious.svg").write_text("mine")
    (tmp_path / "out" / "link.svg").symlink_to("../precious.svg")
    for name in ("../precious.svg", str(tmp_path / "precious.svg"), "link.svg"):
        with pytest.raises(ValueError, match="is no picture: pictures are files of"):
            inlined(tmp_path / "out", name)


def test_a_figure_that_no_notebook_lists_is_refused(profile, out_dir):
    figures = json.loads((out_dir / f"{SURROGATE}.json").read_text())["figures"]
    rest = {name: text for name, text in figures.items() if not name.startswith("fig13")}
    change(out_dir, SURROGATE, figures=rest)
    with pytest.raises(ValueError, match=r"Fig\. 13 is missing: 04_materials_surrogate lists no"):
        render(profile, out_dir)


def test_a_figure_may_be_left_out_when_the_notebook_says_so(profile, out_dir):
    assert json.loads((out_dir / "03_materials_data.json").read_text())["left_out"] == ["Fig. 10"]
    change(out_dir, "03_materials_data", left_out=[])
    with pytest.raises(ValueError, match=r"Fig\. 10 is missing"):
        render(profile, out_dir)


def test_missing_metrics_are_refused(profile, tmp_path):
    with pytest.raises(ValueError, match="run the notebooks first"):
        render(profile, tmp_path)
    with pytest.raises(SystemExit, match="is missing: run the notebooks first"):
        main("quick", tmp_path)


def test_a_notebook_apart_is_shown_once_it_has_run(profile, out_dir):
    name = "05_beyond_the_paper"
    profile = apart(profile, name)
    assert "Other methods" not in render(profile, out_dir)
    content = {
        "title": "Other methods",
        "figures": {},
        "provenance": {"seed": 3},
        "claims": [
            {"id": "so", "about": "Beyond", "claim": "It is so", "ours": {"a": 0.5}, "holds": None}
        ],
        "tables": [{"caption": "First < second", "header": ["method"], "rows": [["exact"]]}],
    }
    (out_dir / f"{name}.json").write_text(json.dumps(content))
    page = render(profile, out_dir)
    for text in ("Other methods", "First &lt; second", "<td>exact</td>", "It is so", "open"):
        assert text in page


def test_a_notebook_apart_without_its_pictures_has_not_run(profile, out_dir):
    """As in a fresh clone on published tables: their metrics are committed, pictures are not."""
    name = "05_beyond_the_paper"
    profile = apart(profile, name)
    committed = ROOT / "figures" / "full" / f"{name}.json"
    shutil.copy(committed, out_dir)
    assert "Beyond the paper" not in render(profile, out_dir)
    for picture in json.loads(committed.read_text())["figures"]:
        (out_dir / picture).write_text("<svg/>")
    assert "Beyond the paper" in render(profile, out_dir)


def test_numbers_of_a_column_have_the_digits_of_its_finest_published_one():
    def row(*printed):
        return {c: Check(p, 0.0, None, None, 1, True) for c, p in zip("ab", printed, strict=True)}

    assert column_decimals({"x": row("1.8", "-114"), "y": row("67", "-4100")}) == {"a": 2, "b": 0}
    assert column_decimals({"x": row("0.10", "3")}) == {"a": 3, "b": 1}


def test_powers_of_ten_are_written_out():
    assert power(1e-3) == "10⁻³"
    assert power(1e12) == "10¹²"


def test_names_become_words_where_they_stand_alone():
    assert label("b_eff_MPa and nu_eff") == "b_eff and ν_eff"
    assert label("ind25 and outd") == "25 cells in distribution and out of distribution"
    assert label("ind25", {"ind25": 4}) == "4 cells in distribution"
    assert label("exact 0.1, anchored 1") == "exact posterior, L = 0.1, anchored, L = 1"
    assert label("fit_vf of rvf, find25, anchored 100") == "fit_vf of rvf, find25, anchored 100"


def test_numbers_behind_a_claim_are_words_with_three_digits():
    assert brief({"nu_eff": 0.9468, "p_sigma": {"mean": 2.0, "values": [2.0]}}) == (
        "ν_eff: 0.947; p_σ: 2.00"
    )
    assert brief({"A": {"low_rank": 0.5}, "B": {"low_rank": -4882.1}}) == (
        "A (multivariate Gaussian: 0.500)\nB (multivariate Gaussian: −4882)"
    )
    assert brief({"x": 2.0036e-8, "y": 206.08, "z": "vf, c_m"}) == (
        "x: 2.00 × 10⁻⁸; y: 206; z: v_f, c_m"
    )
