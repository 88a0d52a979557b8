"""Numbers of the README followed back to values in committed metrics files.

Which file and which value follows from the words beside a number, not from the code that wrote it.
"""

import random
import re

import pytest
import yaml

from figures.pipeline.paths import ROOT
from tests.figures.report.committed import committed_run

README = (ROOT / "README.md").read_text()
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
    items = yaml.safe_load((ROOT / "figures" / "published.yaml").read_text())
    (rows,) = (item["rows"] for item in items if item["place"] == "Table 3")
    return {row["label"].format(n=n_train.get(row.get("case"))): name for name, row in rows.items()}


def scores():
    """Where each cell of Table 3 comes from: (text, run, notebook, path), and what has none."""
    header, rows = table("scores")
    names = row_paths(committed_run("full", ROOT)["04_materials_draws"]["n_train"])
    columns = []
    for words in header[3:]:
        draws, ours = "draws of the tables" in words, words.startswith("our")
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
