"""Write an archive of the repository as one file: python -m figures.report.archive.

It contains the files of the last commit, checksums, and the metadata of an RO-Crate. If there are
no uncommitted changes, it also contains the pages of runs, the site and the article.
"""

import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from figures.pipeline.clean import note
from figures.pipeline.paths import ROOT
from figures.pipeline.provenance import file_digest
from figures.report.tables import RUNS
from safe_files.writing import replacing

MADE = (*(f"figures/{run}" for run in RUNS), "build/docs", "build/article.pdf")


def output(*command: str | Path) -> str:
    """Run a program at the root of the checkout, and return what it prints."""
    return subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout


def collect(folder: Path) -> None:
    """Copy the files of the commit into a folder, and generated files if nothing is uncommitted."""
    folder.mkdir()
    output("git", "archive", "--output", folder / "tar", "HEAD")
    output("tar", "--extract", "--directory", folder, "--file", folder / "tar")
    (folder / "tar").unlink()
    if output("git", "status", "--porcelain"):
        print("there are uncommitted changes: pages, site and article are left out")
        return
    for name in MADE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
        elif (ROOT / name).is_file():
            shutil.copy2(ROOT / name, folder)


def describe(folder: Path, commit: str, date: datetime) -> None:
    """Write the RO-Crate metadata and the checksums of a folder into it."""
    about = json.loads((folder / "codemeta.json").read_text(encoding="utf-8"))
    authors = {"@type": "Organization", "name": about["author"][0]["name"]}
    crate = ROCrate(version="1.1")
    crate.name = about["name"]
    crate.description = f"{about['description']}; commit {commit}"
    crate.datePublished = date
    crate.license = about["license"]
    crate.root_dataset["author"] = crate.add(ContextEntity(crate, "#authors", properties=authors))
    files = sorted(filter(Path.is_file, folder.rglob("*")))
    for file in files:
        crate.add_file(file, file.relative_to(folder))
    crate.metadata.write(folder)
    files.append(folder / crate.metadata.id)
    sums = [f"{file_digest(file)}  {file.relative_to(folder)}\n" for file in files]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def main(out: Path = ROOT / "dist") -> None:
    """Write the archive of the last commit into a folder. Equal contents give identical files."""
    if not (ROOT / ".git").exists():
        sys.exit("error: this folder is not a git repository: make the archive in a clone")
    commit, seconds = output("git", "show", "-s", "--format=%h %ct", "--abbrev=12").split()
    tar = ["tar", "--create", "--sort=name", f"--mtime=@{seconds}", "--mode=u+w,go-w,a+rX"]
    tar += ["--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n9"]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / f"composite-bnn-{commit}"
        collect(folder)
        describe(folder, commit, datetime.fromtimestamp(int(seconds), UTC))
        out.mkdir(parents=True, exist_ok=True)
        path = out.resolve() / f"{folder.name}.tar.gz"
        packed = Path(temporary) / path.name
        output(*tar, "--directory", temporary, "--file", packed, folder.name)
        with packed.open("rb") as source, replacing(path, b"\x1f\x8b") as target:
            shutil.copyfileobj(source, target)
        note(path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    typer.run(main)
