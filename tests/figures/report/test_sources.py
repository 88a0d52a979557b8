"""Numbers of the README and of the page followed back to values in committed metrics files.

Which file and which value follows from the words beside a number, not from the code that wrote it.
"""

import functools
import itertools
import json
import operator
import random
import re

import pytest
import yaml
from bs4 import BeautifulSoup

from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import load_profile
from figures.report.findings import load_findings
from figures.report.page import render
from tests.figures.report.committed import committed_run

README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"−?\d+(?:\.\d+)?")
RUNS = ("full", "full-authors")


def table(name):
    """Header and rows of a generated table; a cell is its text."""
    block = re.search(rf"<!-- {name} -->\n(.*?)<!-- end {name} -->", README, re.S)[1]
    header, _, *rows = (
        [c.strip() for c in line.strip("|").split("|")] for line in block.splitlines()
    )
    return header, rows


def row_paths(n_train):
    """Label of a row of Table 3 → its name in the metrics files."""
    items = yaml.safe_load((ROOT / "figures" / "published.yaml").read_text(encoding="utf-8"))
    (rows,) = (item["rows"] for item in items if item["place"] == "Table 3")
    return {row["label"].format(n=n_train.get(row.get("case"))): name for name, row in rows.items()}


def scores():
    """Where each cell of Table 3 comes from: (text, run, notebook, path), and what has none."""
    header, rows = table("scores")
    names = row_paths(committed_run("full", ROOT)["04_materials_draws"]["n_train"])
    columns = []
    for words in header[3:]:
        draws = "draws of the tables" in words
        ours = words.startswith("our")
        notebook = "04_materials_draws" if draws else "04_materials_surrogate"
        columns.append(("full" if ours else "full-authors", notebook, ", Adam proper" in words))
    for label, score, _, *cells in rows:
        for cell, (run, notebook, proper) in zip(cells, columns, strict=True):
            name = names.get(label + ", Adam proper" * proper)
            yield cell, run, notebook, f"rows.{name}.{score.lower()}"


def provenance():
    """Where each cell of the table of runs comes from."""
    _, rows = table("runtime")
    for file, _, commit, seed, time in rows:
        run, name = file.strip("`").removesuffix(".json").split("/")
        for text, key in ((commit.strip("`"), "commit"), (seed, "seed"), (time, "wall_time_s")):
            yield text, run, name, f"provenance.{key}"


def value(run, notebook, path):
    found = committed_run(run, ROOT)[notebook]
    for name in path.split("."):
        found = found[name]
    return found


def agrees(text, found):
    """Whether a text is a value, or its mean ± standard deviation, to the digits it has."""
    if isinstance(found, str):
        return text == found
    numbers = NUMBER.findall(text)
    values = [found["mean"], found["std"]] if isinstance(found, dict) else [found]
    if len(numbers) != len(values):
        return False
    return all(
        abs(float(n.replace("−", "-")) - v) <= 0.5001 * 10.0 ** -len(n.partition(".")[2])
        for n, v in zip(numbers, values, strict=True)
    )


SOURCES = [(text, *place) for text, *place in (*scores(), *provenance()) if text != "–"]


@pytest.mark.parametrize("source", random.Random(17).sample(SOURCES, 10), ids="/".join)
def test_ten_numbers_of_the_readme_are_followed_to_their_values(source):
    text, run, notebook, path = source
    assert agrees(text, value(run, notebook, path))


def test_every_number_of_the_tables_has_its_source():
    assert len(SOURCES) > 60
    wrong = [source for source in SOURCES if not agrees(source[0], value(*source[1:]))]
    assert wrong == []


def test_another_number_would_be_found_out():
    text, run, notebook, path = next(s for s in SOURCES if "±" in s[0])
    digit = text[4]
    changed = text[:4] + str((int(digit) + 1) % 10) + text[5:]
    assert not agrees(changed, value(run, notebook, path))


def test_every_metrics_file_is_named_with_its_run_commit_and_seed():
    named = {(run, name) for _, run, name, path in provenance() if path == "provenance.seed"}
    assert named == {(run, name) for run in RUNS for name in committed_run(run, ROOT)}


def leaves(content):
    """Numbers of a metrics file, lengths of its lists, and means with what they are given with."""
    if isinstance(content, dict):
        if isinstance(content.get("mean"), float):
            yield content["mean"], content.get("half_width", content.get("std"))
        for each in content.values():
            yield from leaves(each)
    elif isinstance(content, list):
        yield len(content), None
        for each in content:
            yield from leaves(each)
    elif isinstance(content, float | int):
        yield content, None


def test_every_number_of_the_findings_is_in_a_metrics_file():
    block = re.search(r"<!-- findings -->\n(.*?)<!-- end findings -->", README, re.S)[1]
    known = {leaf for run in RUNS for m in committed_run(run, ROOT).values() for leaf in leaves(m)}
    texts = [re.sub(r"^- \*\*.*?:\*\* |\(`.*", "", line) for line in block.splitlines()]
    cells = re.findall(
        rf"(?<![\w.]){NUMBER.pattern}(?: ± {NUMBER.pattern})?(?: %)?", "\n".join(texts)
    )
    assert len(cells) > 20
    for cell in cells:
        scale = 100 if cell.endswith("%") else 1
        mean, _, spread = cell.removesuffix(" %").partition(" ± ")
        assert any(
            agrees(mean, scale * first) and (not spread or (second and agrees(spread, second)))
            for first, second in known
        ), cell


@pytest.fixture(scope="module")
def sections(tmp_path_factory):
    """Sections of the page of the committed full run: the text of its heading → its elements."""
    folder = tmp_path_factory.mktemp("page") / "full"
    folder.mkdir()
    for name, metrics in committed_run("full", ROOT).items():
        (folder / f"{name}.json").write_text(json.dumps(metrics), encoding="utf-8")
        for picture in metrics["figures"]:
            (folder / picture).write_text("<svg/>", encoding="utf-8")
    soup = BeautifulSoup(render(load_profile("full"), folder).replace("<br>", "\n"), "html.parser")
    found = {}
    for heading in soup.find_all("h2"):
        parts = itertools.takewhile(lambda each: each.name != "h2", heading.find_next_siblings())
        found[heading.get_text().removeprefix("↑ contents").split(":")[0]] = list(parts)
    return found


def origin(parts):
    """Metrics file of the numbers of a section, by what it says of its run, commit and seed."""
    said = [p.get_text() for p in parts if p.name == "p" and "From the" in p.get_text()]
    line = said[-1].rpartition("rom the ")[2]
    commit, seed, notebook, cell = re.match(
        r"full run, commit (\w+), seed (\d+), notebook (\w+), cell ‘(.+)’", line
    ).groups()
    metrics = committed_run("full", ROOT)[notebook]
    assert (commit, int(seed)) == (metrics["provenance"]["commit"], metrics["provenance"]["seed"])
    assert f'"## {cell}' in (ROOT / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8")
    return metrics


def rows_of(table):
    return [[c.get_text() for c in row.find_all("td")] for row in table.tbody.find_all("tr")]


def plain(ours):
    """Numbers behind a claim, one after the other."""
    if isinstance(ours, dict):
        parts = [ours["mean"]] if "values" in ours else ours.values()
        return [number for part in parts for number in plain(part)]
    return [ours] if isinstance(ours, int | float) else []


def at(metrics, path):
    for name in path.split("."):
        metrics = metrics.get(name, {})
    return {"mean": metrics} if isinstance(metrics, float) else metrics


def page_numbers(sections):
    """(place, text, value): every number of the page in the tables and claims about the paper."""
    for item in yaml.safe_load((ROOT / "figures" / "published.yaml").read_text(encoding="utf-8")):
        place = item["place"]
        parts = sections[item["place"]]
        metrics = origin(parts)
        tables = [rows_of(part.table) for part in parts if part.name == "div"]
        if item.get("rows"):
            columns = [
                [
                    at(metrics, item["ours"].format(row=row, column=column))
                    for column in item["columns"]
                ]
                for row in item["rows"]
            ]
            for texts, values in zip(tables.pop(0), filter(all, columns), strict=True):
                for text, value in zip(texts[1:], values, strict=True):
                    spread = value.get("std", value.get("error"))
                    mean, _, deviation = text.split("\npaper")[0].partition(" ± ")
                    yield place, mean, value.get("mean", value.get("value")) / item.get("unit", 1)
                    if deviation:
                        yield place, deviation, spread / item.get("unit", 1)
        claims = [each for each in metrics["claims"] if each["about"] == place]
        for texts, claim in zip(tables.pop() if claims else [], claims, strict=True):
            printed = re.findall(r": (−?[\d.]+(?: × 10[⁰¹²³⁴-⁹⁻]+)?)(?=[;)\n]|$)", texts[1])
            for text, value in zip(printed, plain(claim["ours"]), strict=True):
                yield place, text, value


def is_printed(text, value):
    """Whether a text of the page is a value to the digits it has."""
    number, _, power = re.sub(r"[^\d.×⁻⁰¹²³⁴-⁹−]", "", text).partition("×10")
    exponent = int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")) or 0)
    return agrees(number, value / 10.0**exponent)


def test_ten_numbers_of_the_page_are_followed_to_their_values(sections):
    numbers = list(page_numbers(sections))
    assert len(numbers) > 300
    for place, text, value in random.Random(29).sample(numbers, 10):
        assert is_printed(text, value), place


def test_every_number_of_the_page_about_the_paper_is_in_its_metrics_file(sections):
    numbers = list(page_numbers(sections))
    assert {place for place, *_ in numbers} >= {"Table 1", "Fig. 7", "Table 3", "Fig. 14"}
    assert [number for number in numbers if not is_printed(*number[1:])] == []
    place, text, value = numbers[0]
    assert not is_printed(text, 1.1 * value), place


def test_dots_beside_the_findings_are_values_of_metrics_files(sections):
    (found,) = [part for part in sections["Findings"] if part.name == "ul"]
    pictures = [each.picture for each in load_findings().findings]
    drawn = found.find_all("svg")
    assert len(drawn) == len(pictures) == len(found.find_all("li"))
    for svg, picture in zip(drawn, pictures, strict=True):
        texts = [text.get_text() for text in svg.find_all("text")]
        for text, path in zip(texts[1::2], picture.rows.values(), strict=True):
            notebook, *names = path.split("/")
            leaf = functools.reduce(operator.getitem, names, committed_run("full", ROOT)[notebook])
            mean = leaf["mean"] if isinstance(leaf, dict) else leaf
            assert is_printed(text.partition(" ± ")[0], mean), path


@pytest.mark.parametrize("name", ["04_materials_draws", "05_beyond_the_paper"])
def test_sections_beyond_the_paper_name_the_run_of_their_numbers(sections, name):
    metrics = committed_run("full", ROOT)[name]
    assert origin(sections[metrics["title"]]) == metrics
