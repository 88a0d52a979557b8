"""What catalogues read: python -m figures.report.catalogues --write.

croissant.json describes the shipped tables and is written by hand but for the checksums of the
files. codecheck.yml is written by hand but for the manifest: what a checker makes again from the
checkout, and the command.
"""

import json
import sys
from pathlib import Path

import typer
import yaml

from fe_data.files.writing import write_atomic
from figures.pipeline.paths import REFERENCE, ROOT, SHIPPED_TABLES
from figures.pipeline.provenance import file_digest
from figures.report.comparison import command

CROISSANT = SHIPPED_TABLES / "croissant.json"
CODECHECK = ROOT / "codecheck.yml"


def manifest() -> list[dict[str, str]]:
    """Metrics and pictures of the full run, and how they are made."""
    found = []
    for path in sorted(REFERENCE.glob("*.json")):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        made_by = command(REFERENCE.name, path.stem)
        seconds = metrics["provenance"]["wall_time_s"]
        comments = {
            path.name: f"{metrics['title']}: numbers, by {made_by} in {seconds:.0f} s on two cores",
            **{name: f"{text}, by the same" for name, text in metrics["figures"].items()},
        }
        folder = REFERENCE.relative_to(ROOT)
        found += [{"file": f"{folder / name}", "comment": t} for name, t in comments.items()]
    return found


def texts() -> dict[Path, str]:
    """File → what is to be in it."""
    tables = json.loads(CROISSANT.read_text(encoding="utf-8"))
    for file in tables["distribution"]:
        file["sha256"] = file_digest(SHIPPED_TABLES / file["contentUrl"])
    check = yaml.safe_load(CODECHECK.read_text(encoding="utf-8")) | {"manifest": manifest()}
    written = yaml.safe_dump(check, sort_keys=False, allow_unicode=True, width=120)
    return {
        CROISSANT: json.dumps(tables, indent=1, ensure_ascii=False) + "\n",
        CODECHECK: f"---\n{written}",
    }


def main(write: bool = False) -> None:
    """Check what catalogues read, or bring it up to date."""
    for path, text in texts().items():
        if write:
            write_atomic(path, text.encode(), None)
        elif path.read_text(encoding="utf-8") != text:
            remedy = "python -m figures.report.catalogues --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
