"""Generated tables of README and guide, from metrics: python -m figures.report.summary --write."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import jinja2
import typer

from figures.beyond.tables import COMPARED, HEADINGS, labelled, shown
from figures.claims import Section, load_published
from figures.knowledge.findings import in_words
from figures.knowledge.study import MODELS, Judged
from figures.pipeline.paths import ROOT
from figures.pipeline.profiles import BEYOND, DRAWS, KNOWLEDGE, NEXT_CELL
from figures.report.comparison import SIGNS, Check, Comparison, Metrics, compare, heading, read
from figures.report.findings import findings, load_findings
from figures.report.words import digits_beside, label
from figures.scores import Interval, Scores, written

README = ROOT / "README.md"
TEMPLATE = Path(__file__).with_suffix(".txt")
GUIDE, LOOP = (ROOT / "docs" / f"{name}.md" for name in ("which_estimator", "next_cell"))
RUNS = {"full": "our tables", "full-authors": "published tables"}  # folder → computed from
PROPER = ", Adam proper"  # in the label of a row: trained so, instead of as the paper's own run
Run = Mapping[str, Metrics]  # by notebook


def files_of(entry: Comparison) -> list[str]:
    """What a figure or table is written to, in the folder of a run."""
    numbers = DRAWS if entry.over_draws else entry.item.notebook
    return [f"{numbers}.json"] * bool(entry.item.rows) + list(entry.pictures)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [
        "|".join(["", *(f" {cell} " if cell else " " for cell in row), ""])
        for row in [header, *rows]
    ]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def score_table(runs: Mapping[str, Sequence[Comparison]]) -> str:
    """Table 3 of the paper against ours, a column for each run, and for Adam proper on the last."""
    entries = {name: e for name, run in runs.items() for e in run if e.item.place == "Table 3"}
    judged, *_, last = entries.values()
    columns = [
        *((_column(*each), each[1].rows, "") for each in entries.items()),
        (f"{RUNS[[*entries][-1]]}{PROPER}", last.rows, PROPER),
    ]
    rows = [
        [row, label(column), check.published.replace("-", "−")]
        + [_cell(found.get(row + suffix, {}).get(column)) for _, found, suffix in columns]
        for row, checks in judged.rows.items()
        if not row.endswith(PROPER)
        for column, check in checks.items()
    ]
    return markdown(["", "score", "paper", *(words for words, *_ in columns)], rows)


def _column(name: str, entry: Comparison) -> str:
    """The heading of a run: what its tables are, and over what the numbers scatter."""
    if entry.over_draws:
        n = max(check.n for check in entry.checks)
        return f"ours, over {n} draws of the tables (± over draws)"
    return f"{RUNS[name]} (± over {entry.metrics.repeats} seeds)"


def _cell(check: Check | None) -> str:
    if check is None:
        return "–"
    number = {"mean": check.ours, "std": check.deviation}
    text = written(number, digits_beside(check.published))
    return f"{text} {SIGNS.get(check.verdict, '')}".strip()


class Methods(Metrics):
    """The metrics of notebook 05, with scores by training set and method."""

    rows: dict[str, dict[str, Scores[Interval]]]
    exact: dict[str, dict[str, Scores[float]]]  # in closed form

    def labelled(self, case: str) -> dict[str, Scores]:
        """Scores on a training set by label of the method."""
        return labelled({**self.rows[case], **self.exact[case]})


def methods_table(runs: Mapping[str, Methods]) -> str:
    """Every method on the first training set of each run."""
    groups = {words: run.labelled(next(iter(run.rows))) for words, run in runs.items()}
    printed = load_published()["Table 3"].rows["published.outd_anchored"].printed
    numbers = [number.replace("-", "−") for number in printed]
    empty = [""] * (len(groups) - 1) * len(COMPARED)
    return _grouped(groups, COMPARED, ["the paper prints", *numbers, *empty])


def cases_table(run: Methods) -> str:
    """The main methods on the further training sets of a run."""
    _, *further = run.rows
    groups = {f"{run.n_train[case]} cells": run.labelled(case) for case in further}
    return _grouped(groups, ("rmse", "elppd"))


class Known(Metrics):
    """The metrics of notebook 06, with scores by training set and state of knowledge."""

    rows: dict[str, dict[str, Judged[Interval]]]


def knowledge_table(run: Known) -> str:
    """What is known, and how good the exact posterior is with it, on every training set."""
    groups = {
        in_words(case): {MODELS[name].label: row for name, row in rows.items()}
        for case, rows in run.rows.items()
    }
    return _grouped(groups, ("truth_rmse_fields", "elppd"))


def in_markdown(section: Section | None) -> str:
    """A section of the report."""
    assert section
    tables = [f"{each.caption}\n\n{markdown(each.header, each.rows)}" for each in section.tables]
    return label("\n\n".join([*section.paragraphs, *tables]))


def _grouped(
    groups: Mapping[str, Mapping[str, Scores]], names: Sequence[str], *top: Sequence[str]
) -> str:
    """A row for each method below rows on top, a group of columns for each run or training set."""
    header = ["method", *(f"{group}: {HEADINGS[name][0]}" for group in groups for name in names)]
    body = [
        [method, *(shown(rows.get(method), name) for rows in groups.values() for name in names)]
        for method in dict.fromkeys(chain(*groups.values()))
    ]
    return markdown(header, [*top, *body])


def blocks(runs: Mapping[str, Run]) -> dict[Path, dict[str, str]]:
    """Page → name of each generated block in it → its text, from the metrics of the runs."""
    entries = {name: compare(run) for name, run in runs.items()}
    ours, theirs = (Methods.model_validate(dict(runs[name][BEYOND])) for name in RUNS)
    methods = {RUNS["full-authors"]: theirs, RUNS["full"]: ours}
    content = {
        "findings": findings({RUNS[name]: run for name, run in runs.items()}),
        "differences": load_findings().differences,
        "map": entries["full"],
        "runtime": runs,
    }
    used = {"heading": heading, "files_of": files_of, "signs": SIGNS}
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).make_module(used)
    tables = {name: str(getattr(template, name)(it)).strip() for name, it in content.items()}
    return {
        README: tables | {"scores": score_table(entries)},
        GUIDE: {
            "methods": methods_table(methods),
            "cases": cases_table(ours),
            "knowledge": knowledge_table(Known.model_validate(dict(runs["full"][KNOWLEDGE]))),
        },
        LOOP: {"worth": in_markdown(runs["full"][NEXT_CELL].section)},
    }


def with_blocks(text: str, current: Mapping[str, str]) -> str:
    """A text with every block between its comments replaced by the current one."""
    for name, block in current.items():
        start = f"<!-- {name} -->\n"
        end = f"<!-- end {name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = f"{before}{start}{block}\n{end}{after}"
    return text


def main(write: bool = False) -> None:
    """Check the tables of the pages, or bring them up to date."""
    runs = {name: read(sorted((ROOT / "figures" / name).glob("*.json"))) for name in RUNS}
    for path, current in blocks(runs).items():
        text = path.read_text(encoding="utf-8")
        if write:
            path.write_text(with_blocks(text, current), encoding="utf-8")
        elif with_blocks(text, current) != text:
            remedy = "python -m figures.report.summary --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
