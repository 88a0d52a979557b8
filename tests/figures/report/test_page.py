"""The pages of a run."""

import json
import re
import shutil

import pytest

from figures.pipeline.paths import REFERENCE, SHIPPED_TABLES
from figures.pipeline.profiles import BEYOND, DATA, DRAWS, SURROGATE, load_profile
from figures.pipeline.provenance import file_digest
from figures.pipeline.settings import Beyond
from figures.report.comparison import Number, check, command
from figures.report.page import inlined, main, render
from figures.report.words import brief, column_decimals, label, power


@pytest.fixture
def profile(profile_file):
    return load_profile(profile_file)


@pytest.fixture
def with_beyond(profile):
    """The profile with one more notebook, which is run on request only."""
    beyond = Beyond(cases=profile.surrogate.cases)
    update = {"notebooks": [*profile.notebooks, BEYOND], "beyond": beyond, "apart": [BEYOND]}
    return profile.model_copy(update=update)


@pytest.fixture
def out_dir(tmp_path, executed):
    return shutil.copytree(executed, tmp_path / "out")


def change(out_dir, name, **content):
    path = out_dir / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | content))


def places(page):
    return {f"#{anchor}" for anchor in re.findall(r'id="([^"]*)"', page)}


def test_every_picture_is_shown_and_links_lead_to_places_of_the_pages_and_executed_notebooks(
    profile, out_dir
):
    (out_dir / "notebooks").mkdir()
    (out_dir / "notebooks" / f"{DATA}.html").write_text("executed")
    pages = render(profile, out_dir)
    assert [*pages] == ["index.html", *(f"{name}.html" for name in profile.notebooks)]
    for name in profile.notebooks:
        listed = json.loads((out_dir / f"{name}.json").read_text())["figures"]
        sources = re.findall(r'<img src="([^"]{0,40})', pages[f"{name}.html"])
        assert len(sources) == len(listed)
        assert all(source.startswith("data:image/") for source in sources)
    known = {"data:,", f"notebooks/{DATA}.html", *pages}
    known |= {f"{name}{place}" for name, page in pages.items() for place in places(page)}
    for page in pages.values():
        assert "http" not in re.sub(r'src="data:[^"]*"', "", page)
        assert set(re.findall(r'href="([^"]*)"', page)) <= known
    assert f'href="notebooks/{DATA}.html"' in pages[f"{DATA}.html"]


def test_the_story_has_every_figure_and_table_of_the_paper_and_the_pages_have_those_of_the_run(
    profile, out_dir
):
    pages = render(profile, out_dir)
    every = [f"Fig. {n}" for n in range(1, 15)] + [f"Table {n}" for n in range(1, 5)]
    story = pages["index.html"].partition('id="differences"')[0]
    listed = re.findall(r"<td>(?:<a [^>]*>)?((?:Fig\.|Table) \d+)(?:</a>)?:", story)
    assert sorted(listed) == sorted(every)
    run = "".join(pages[f"{name}.html"] for name in profile.notebooks)
    headings = re.findall(r"<h2 id=\"[^\"]*\">((?:Fig\.|Table) \d+):", run)
    assert sorted(headings) == sorted(every[7:14] + every[15:])
    for text in ("OutD (N = 10, paper 50), anchored", "paper 0.16", "config sha256"):
        assert text in run


def test_the_story_says_which_tables_are_not_those_that_come_with_the_package(profile, out_dir):
    names = "test_uniform.csv", "train_beta.csv"
    story = render(profile, out_dir)["index.html"]
    assert "other than those that come with fe_data" in story
    assert re.search(r"2 notebooks ran to their end in \d+\.\d minutes", story)
    assert all(name in story for name in names)
    for name in profile.notebooks:
        content = json.loads((out_dir / f"{name}.json").read_text())
        shipped = {each: file_digest(SHIPPED_TABLES / each) for each in names}
        change(out_dir, name, provenance=content["provenance"] | {"inputs_sha256": shipped})
    assert "Every table that this run read is" in render(profile, out_dir)["index.html"]


def test_a_small_run_shows_the_findings_and_verdicts_of_the_full_run_and_none_of_its_own(
    with_beyond, out_dir, monkeypatch, tmp_path
):
    tables = [{"caption": "Scores", "header": ["method"], "rows": [["exact"]]}]
    (out_dir / f"{BEYOND}.json").write_text(json.dumps({"title": "Beyond", "tables": tables}))
    pages = render(with_beyond, out_dir)
    assert all("This run is smaller than the paper" in page for page in pages.values())
    assert "Full run: <span" in pages[f"{DATA}.html"]
    assert "All its numbers" in pages["index.html"]
    assert "What to use: functional anchoring" in pages[f"{BEYOND}.html"]
    monkeypatch.setattr("figures.report.page.REFERENCE", tmp_path / "nowhere")
    alone = render(with_beyond, out_dir)
    assert not re.search(r"<td[^>]*>[^<]*<span[^>]*>[✓~○✗]", "".join(alone.values()))
    assert "not comparable</span>" in alone[f"{DATA}.html"]
    assert "All its numbers" not in alone["index.html"]
    assert "Where the published code differs from the paper" in alone["index.html"]


def test_numbers_of_the_full_run_stand_beside_their_verdict_with_file_commit_and_command(
    profile, out_dir
):
    page = render(profile, out_dir)[f"{SURROGATE}.html"]
    table_3 = page.partition('id="table-3"')[2].partition("<h2")[0]
    assert re.findall(r"<th>([^<]*)</th>", table_3)[-3:] == [
        "This small run",
        "Full run",
        "Verdict on the full run",
    ]
    _, _, better = table_3.partition("anchored is better than vanilla: RMSE</td>")
    assert re.fullmatch(
        r'<td class="ours" data-label="This small run">anchored: [^<]+</td>'
        r'<td class="ours" data-label="Full run">anchored: [^<]+</td>'
        r"<td><span [^>]*>✓ reproduced</span></td>",
        better.partition("</tr>")[0],
    )
    committed = json.loads((REFERENCE / f"{DRAWS}.json").read_text())["provenance"]["commit"]
    for text in (f"figures/full/{DRAWS}.json", committed, "make draws", command("full", DRAWS)):
        assert text in table_3
    fig_11 = page.partition('id="fig-11"')[2].partition("<h2")[0]
    assert f"figures/full/{SURROGATE}.json" in fig_11  # the draws do not judge it
    assert f"full run, {DRAWS}: commit" in page.partition('id="provenance"')[2]


def test_a_claim_that_the_full_run_was_made_without_has_no_verdict(profile, out_dir):
    claims = [{"id": "new", "about": "Table 4", "claim": "new", "ours": {}, "holds": True}]
    change(out_dir, SURROGATE, claims=claims)
    page = render(profile, out_dir)[f"{SURROGATE}.html"]
    row = page.partition("<td>new</td>")[2].partition("</tr>")[0]
    assert "the committed full run was made without this claim</td><td>none</td>" in row


def test_they_have_words_in_place_of_names_of_the_metrics(profile, out_dir):
    for page in render(profile, out_dir).values():
        body = page[page.index("<body>") :].partition('id="provenance"')[0]
        shown = re.sub(r"<[^>]*>", " ", body)
        assert not re.findall(r"\w+_[MG]Pa|\bind\d+|\boutd\b|generalised_normal|p_sigma", shown)


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_a_missing_or_empty_picture_is_refused(profile, out_dir, content):
    (out_dir / "fig14_calibration.svg").unlink()
    if content is not None:
        (out_dir / "fig14_calibration.svg").write_bytes(content)
    with pytest.raises(ValueError, match=r"fig14_calibration\.svg is missing or empty"):
        render(profile, out_dir)


def test_a_file_outside_the_folder_is_not_shown(tmp_path):
    (tmp_path / "precious.svg").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "link.svg").symlink_to("../precious.svg")
    for name in ("../precious.svg", str(tmp_path / "precious.svg"), "link.svg"):
        with pytest.raises(ValueError, match="is no picture: pictures are files of"):
            inlined(tmp_path / "out", name)


def test_a_figure_is_missing_only_where_the_notebook_says_so(profile, out_dir):
    assert json.loads((out_dir / f"{DATA}.json").read_text())["left_out"] == ["Fig. 10"]
    change(out_dir, DATA, left_out=[])
    with pytest.raises(ValueError, match=rf"Fig\. 10 is missing: {DATA} lists no picture"):
        render(profile, out_dir)


def test_missing_metrics_are_refused(tmp_path):
    with pytest.raises(SystemExit, match="is missing: run the notebooks first"):
        main("quick", tmp_path)


def test_a_notebook_apart_is_shown_once_it_has_run(with_beyond, out_dir):
    """In a fresh clone on published tables their metrics are committed, and pictures are not."""
    name = f"{BEYOND}.html"
    assert name not in render(with_beyond, out_dir)
    shutil.copy(REFERENCE / f"{BEYOND}.json", out_dir)
    tables = [{"caption": "First < second", "header": ["method"], "rows": [["exact"]]}]
    change(out_dir, BEYOND, tables=tables)
    assert name not in render(with_beyond, out_dir)
    for picture in json.loads((REFERENCE / f"{BEYOND}.json").read_text())["figures"]:
        (out_dir / picture).write_text("<svg/>")
    page = render(with_beyond, out_dir)[name]
    for text in ("Beyond the paper", "First &lt; second", "<td>exact</td>"):
        assert text in page


def test_numbers_of_a_column_have_the_digits_of_its_finest_published_one():
    def row(*printed):
        ours = Number(0.0, None, 1)
        return {c: check(p, ours, None, True) for c, p in zip("ab", printed, strict=True)}

    assert column_decimals({"x": row("1.8", "-114"), "y": row("67", "-4100")}) == {"a": 2, "b": 0}
    assert column_decimals({"x": row("0.10", "3")}) == {"a": 3, "b": 1}


def test_names_become_words_where_they_stand_alone_and_powers_are_written_out():
    assert label("ind25 and nu_eff") == "25 cells in distribution and ν_eff"
    assert label("ind25", {"ind25": 4}) == "4 cells in distribution"
    assert label("exact 0.1, anchored 1") == "exact posterior, L = 0.1, anchored, L = 1"
    assert label("fit_vf of rvf, find25, anchored 100") == "fit_vf of rvf, find25, anchored 100"
    assert power(1e-3) == "10⁻³"


def test_numbers_behind_a_claim_are_words_with_three_digits():
    assert brief({"nu_eff": 0.9468, "p_sigma": {"mean": 2.0, "values": [2.0]}}) == (
        "ν_eff: 0.947; p_σ: 2.00"
    )
    assert brief({"A": {"low_rank": 0.5}, "B": {"low_rank": -4882.1}}) == (
        "A (multivariate Gaussian: 0.500)\nB (multivariate Gaussian: −4882)"
    )
    assert brief({"x": 2.0036e-8, "z": "vf, c_m"}) == "x: 2.00 × 10⁻⁸; z: v_f, c_m"
