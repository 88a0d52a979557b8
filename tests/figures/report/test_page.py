"""The pages of a run."""

import json
import re
import shutil

import pytest

from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.profiles import DATA, SURROGATE, load_profile
from figures.pipeline.provenance import file_digest
from figures.report.labels import label
from figures.report.page import foreign_tables, inlined, main, read_run, render
from figures.scores import written


@pytest.fixture
def profile(profile_file):
    return load_profile(profile_file)


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
    known.add("../../docs/verdicts.md")
    known |= {f"{name}{place}" for name, page in pages.items() for place in places(page)}
    for page in pages.values():
        assert "http" not in re.sub(r'src="data:[^"]*"', "", page)
        assert set(re.findall(r'href="([^"]*)"', page)) <= known
    assert f'href="notebooks/{DATA}.html"' in pages[f"{DATA}.html"]


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


def test_a_table_shows_ours_and_the_number_of_the_paper(profile, out_dir):
    page = render(profile, out_dir)[f"{SURROGATE}.html"]
    table_3 = page.partition('id="table-3"')[2].partition("<h2")[0]
    ours = json.loads((out_dir / f"{SURROGATE}.json").read_text())["rows"]["published"]
    rmse = written(ours["outd_anchored"]["rmse"], 3)
    assert re.search(rf"<td>{rmse}[^/]*<br>.*?paper 0\.16<", table_3)


def test_a_small_run_has_the_verdicts_of_the_full_run(profile, out_dir, monkeypatch, tmp_path):
    verdict = r"<td[^>]*><span[^>]*>[✓~○✗]"
    assert re.search(verdict, "".join(render(profile, out_dir).values()))
    monkeypatch.setattr("figures.report.page.REFERENCE", tmp_path / "nowhere")
    assert not re.search(verdict, "".join(render(profile, out_dir).values()))


def test_tables_that_do_not_come_with_the_package_are_named(profile, out_dir):
    names = ["test_uniform.csv", "train_beta.csv"]
    assert set(names) <= {
        name.split("/")[-1] for name in foreign_tables(read_run(profile, out_dir))
    }
    for name in profile.notebooks:
        content = json.loads((out_dir / f"{name}.json").read_text())
        shipped = {each: file_digest(SHIPPED_TABLES / each) for each in names}
        change(out_dir, name, provenance=content["provenance"] | {"inputs_sha256": shipped})
    assert foreign_tables(read_run(profile, out_dir)) == []


def test_names_become_words_where_they_stand_alone():
    assert label("ind25 and nu_eff") == "25 cells in distribution and ν_eff"
    assert label("ind25", {"ind25": 4}) == "4 cells in distribution"
    assert label("fit_vf of rvf, find25, anchored 100") == "fit_vf of rvf, find25, anchored 100"
