"""What catalogues read: python -m figures.report.catalogues --write.

croissant.json describes the shipped tables for catalogues of data sets. Units and meanings of
columns are those of `fe_data.schema`, what each table is for is what the card beside the tables
says, and the checksums are those of the files. An address and a date are missing: they are those of
a deposit.

codecheck.yml names what a checker makes again from the checkout alone, with the commands. Who
checks adds the names and the certificate.
"""

import csv
import gzip
import json
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import typer
import yaml

from fe_data.files.writing import write_atomic
from fe_data.schema import DIMENSIONLESS, required_outputs
from fe_data.statistics.replicates import StatisticsColumns
from figures.pipeline.paths import REFERENCE, ROOT, SHIPPED_TABLES
from figures.pipeline.provenance import file_digest
from figures.report.comparison import command

CARD = SHIPPED_TABLES / "CARD.md"
CROISSANT = SHIPPED_TABLES / "croissant.json"
CODECHECK = ROOT / "codecheck.yml"
INTEGERS = ("index", "seed", "group", "count")
FORMATS = {".csv": "text/csv", ".gz": "text/csv", ".npz": "application/zip"}
# The context that version 1.0 of the standard prescribes.
TERMS = """citeAs column equivalentProperty extract field fileObject fileProperty fileSet format
includes isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace
samplingRate separator source subField transform"""
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in TERMS.split()},
}


def card_rows(heading: str) -> list[list[str]]:
    """Rows of that table of the card whose first column has this heading."""
    table = CARD.read_text(encoding="utf-8").partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in row] for row in rows]


def purposes() -> dict[Path, str]:
    """File → what the row of the card says that names it."""
    found: dict[Path, str] = {}
    for names, _, inputs, purpose in card_rows("file"):
        text = "; ".join(filter(None, [purpose, inputs])).replace("`", "")
        for name in re.findall(r"`([\w/*]+\.(?:csv|csv\.gz|npz))`", names + purpose):
            found |= dict.fromkeys(sorted(SHIPPED_TABLES.glob(name)), text)
    return found


def meanings() -> dict[str, str]:
    """Column → what is in it."""
    found = {"count": "number of cells with outputs"}
    for columns, unit, values, meaning in card_rows("column"):
        listed = re.findall("`(.*?)`", columns)
        ends = "" if unit == DIMENSIONLESS else f" [{unit}]"
        ends += f" ({values})" if values else ""
        for name, text in zip(listed, meaning.split(", ", len(listed) - 1), strict=True):
            found[name] = f"{text}{ends}".replace("`", "")
    names = required_outputs()
    of_truth = StatisticsColumns(names)
    for name, std, error in zip(names, of_truth.std, of_truth.errors, strict=True):
        found[std] = f"standard deviation of single cells: {found[name]}"
        found[error] = f"standard error of the mean: {found[name]}"
    for column, pair in zip(of_truth.correlations, combinations(names, 2), strict=True):
        found[column] = f"correlation of {pair[0]} and {pair[1]} of single cells"
    return found


def header(path: Path) -> list[str]:
    """Columns of a table."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def data_type(column: str) -> str:
    """Type of the values of a column."""
    if column == "status":
        return "sc:Text"
    return "sc:Integer" if column in INTEGERS else "sc:Float"


def file_object(path: Path, purpose: str) -> dict[str, Any]:
    """Description of a file."""
    name = str(path.relative_to(SHIPPED_TABLES))
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": purpose,
        "contentUrl": name,
        "encodingFormat": FORMATS[path.suffix],
        "sha256": file_digest(path),
    }


def record_set(path: Path, purpose: str, known: dict[str, str]) -> dict[str, Any]:
    """Description of a table: one field for each column."""
    file = str(path.relative_to(SHIPPED_TABLES))
    name = file.partition(".")[0]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "description": known[column],
            "dataType": data_type(column),
            "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
        }
        for column in header(path)
    ]
    about = {"@type": "cr:RecordSet", "@id": name, "name": name, "description": purpose}
    return about | {"field": fields}


def citation() -> str:
    """The paper that the tables belong to, as BibTeX."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = cited["preferred-citation"]
    people = [f"{each['family-names']}, {each['given-names']}" for each in paper["authors"]]
    return f"@article{{paper, title={{{paper['title']}}}, author={{{' and '.join(people)}}}}}"


def croissant() -> dict[str, Any]:
    """Croissant metadata of the shipped tables."""
    software = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    introduction = CARD.read_text(encoding="utf-8").split("\n\n")[1]
    files = purposes()
    known = meanings()
    tables = {path: text for path, text in files.items() if FORMATS[path.suffix] == "text/csv"}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"{software['name']} tables",
        "description": " ".join(introduction.replace("`", "").split()),
        "version": software["version"],
        "license": software["license"],
        "creator": {"@type": "sc:Organization", "name": software["author"][0]["name"]},
        "citeAs": citation(),
        "distribution": [file_object(path, text) for path, text in files.items()],
        "recordSet": [record_set(path, text, known) for path, text in tables.items()],
    }


def codecheck() -> dict[str, Any]:
    """What a checker makes again: metrics and pictures of the full run, and how."""
    article = yaml.safe_load((ROOT / "article" / "metadata.yaml").read_text(encoding="utf-8"))
    manifest = []
    for path in sorted(REFERENCE.glob("*.json")):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        made_by = command(REFERENCE.name, path.stem)
        seconds = metrics["provenance"]["wall_time_s"]
        comment = f"{metrics['title']}: numbers, by {made_by} in {seconds:.0f} s on two cores"
        manifest.append({"file": str(path.relative_to(ROOT)), "comment": comment})
        for name, caption in metrics["figures"].items():
            picture = str((REFERENCE / name).relative_to(ROOT))
            manifest.append({"file": picture, "comment": f"{caption}, by the same"})
    authors = [{"name": each["name"]} for each in article["authors"]]
    return {
        "version": "https://codecheck.org.uk/spec/config/1.0",
        "paper": {"title": article["title"], "authors": authors},
        "manifest": manifest,
    }


def texts() -> dict[Path, str]:
    """File → what is to be in it."""
    manifest = yaml.safe_dump(codecheck(), sort_keys=False, allow_unicode=True, width=120)
    return {
        CROISSANT: json.dumps(croissant(), indent=1, ensure_ascii=False) + "\n",
        CODECHECK: f"---\n{manifest}",
    }


def main(write: bool = False) -> None:
    """Check what catalogues read, or bring it up to date."""
    for path, text in texts().items():
        if write:
            write_atomic(path, text.encode(), None)
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            remedy = "python -m figures.report.catalogues --write"
            sys.exit(f"error: {path.relative_to(ROOT)} is out of date: {remedy}")


if __name__ == "__main__":
    typer.run(main)
