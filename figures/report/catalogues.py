"""Files for data and code catalogues: python -m figures.report.catalogues --write.

croissant.json describes the shipped tables; only its checksums are generated. In codecheck.yml only
the manifest is generated, which lists the results that a checker reproduces.
"""

import json
import sys
from pathlib import Path

import typer
import yaml

from figures.pipeline.paths import ROOT, SHIPPED_TABLES, all_metrics, repeated_metrics
from figures.pipeline.provenance import file_digest
from figures.report.comparison import command
from safe_files.writing import write_atomic

CROISSANT = SHIPPED_TABLES / "croissant.json"
CODECHECK = ROOT / "codecheck.yml"


def texts() -> dict[Path, str]:
    """Return the current text of each file."""
    tables = json.loads(CROISSANT.read_text(encoding="utf-8"))
    for file in tables["distribution"]:
        file["sha256"] = file_digest(SHIPPED_TABLES / file["contentUrl"])
    check = yaml.safe_load(CODECHECK.read_text(encoding="utf-8")) | {"manifest": []}
    for path in all_metrics():
        metrics = json.loads(path.read_text(encoding="utf-8"))
        repeated = path in repeated_metrics()
        what = "numbers, trained several times" if repeated else "numbers"
        made_by = f"{metrics['title']}: {what}, by {command(path.relative_to(ROOT))}"
        pictures = {} if repeated else metrics["figures"]
        for name, comment in {path.name: made_by, **pictures}.items():
            file = str((path.parent / name).relative_to(ROOT))
            check["manifest"].append({"file": file, "comment": comment})
    manifest = yaml.safe_dump(check, sort_keys=False, allow_unicode=True, width=120)
    return {
        CROISSANT: json.dumps(tables, indent=1, ensure_ascii=False) + "\n",
        CODECHECK: f"---\n{manifest}",
    }


def main(write: bool = False) -> None:
    """Check the files for catalogues, or update them."""
    for path, text in texts().items():
        if write:
            write_atomic(path, text.encode(), None)
        elif path.read_text(encoding="utf-8") != text:
            remedy = "python -m figures.report.catalogues --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
