"""The commands that read tables: compare, verify and import-authors."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

from typer import Argument

from fe_data.cli import INCOMPLETE, OK, say
from fe_data.cli.options import File, Number, counted
from fe_data.settings import require_between

MAX_LINES = 50  # of problems, printed by verify


def compare(
    dataset: Annotated[Path, Argument(metavar="DIR", help="dataset folder or table")],
    reference: Annotated[Path, Argument(metavar="REFERENCE.csv", help="table to compare with")],
    json_path: Annotated[
        Path | None, File("--json", help="also write the comparison there")
    ] = None,
    tolerance: Annotated[
        float | None,
        Number(help="instead, fail unless all rows agree to X: relative, absolute for p_sigma [-]"),
    ] = None,
) -> int:
    """Compare a dataset with a reference table. Rows are paired by equal or nearest inputs."""
    from fe_data.dataset import record
    from fe_data.dataset.compare import check, compare, format_comparison
    from fe_data.dataset.storage import TABLE
    from fe_data.dataset.table import load_table

    if tolerance is not None:
        if json_path is not None:
            raise ValueError("--json writes the comparison: it does not go with --tolerance")
        require_between("tolerance", tolerance, 0.0, 1.0)
    path = dataset / TABLE if dataset.is_dir() else dataset
    tables = load_table(path), load_table(reference)
    if tolerance is None:
        comparison = compare(*tables)
        print(format_comparison(comparison))
        if json_path is not None:
            text = json.dumps(dataclasses.asdict(comparison), indent=1, allow_nan=False) + "\n"
            record.write_atomic(json_path, text.encode())
        return OK
    largest, differing = check(*tables, tolerance)
    if not differing:
        print(f"{path}: all rows agree with {reference}, the largest difference is {largest:.1e}")
        return OK
    rows = ", ".join(map(str, differing[:10])) + (", ..." if len(differing) > 10 else "")
    print(
        f"{path}: {len(differing)} rows differ from {reference} by more than {tolerance:g} "
        f"(largest {largest:.1e}): index {rows}"
    )
    return INCOMPLETE


def verify(folder: Annotated[Path, Argument(metavar="DIR", help="dataset folder")]) -> int:
    """Check every record of a dataset folder. Its tables are checked against the records."""
    from fe_data.dataset.verify import verify

    problems, counts = verify(folder)
    for problem in problems[:MAX_LINES]:
        print(problem)
    if len(problems) > MAX_LINES:
        print(f"... and {len(problems) - MAX_LINES} more")
    if problems:
        return say(f"{folder}: {len(problems)} problems", INCOMPLETE)
    total = sum(counts.values())
    print(f"{folder}: {total} records and the table are right ({counted(counts)})")
    return OK


def import_authors(
    source: Annotated[Path, Argument(metavar="PATH", help="a .pkl file, or a folder of them")],
    out: Annotated[Path, Argument(metavar="OUT", help="folder for the CSV tables")],
) -> int:
    """Convert published .pkl tables to CSV. Nothing in them is executed."""
    from fe_data.published.import_authors import convert

    paths = sorted(source.glob("*.pkl")) if source.is_dir() else [source]
    if not paths:
        raise ValueError(f"{source} holds no .pkl file")
    code = OK
    for path in paths:
        try:
            target, rows = convert(path, out)
            print(f"{path} -> {target}: {rows} samples")
        except ValueError as error:
            code = say(error, INCOMPLETE)
    return code
