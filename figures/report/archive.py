"""One file that outlives the repository: python -m figures.report.archive.

It has what git has at the commit, the pages of runs whose metrics are the committed ones, the site
and the article where nothing is uncommitted, locks of all packages, checksums, and the metadata of
a Workflow Run RO-Crate: the workflow is dodo.py, and its runs name the notebook, the commit, the
seed and the tables behind each metrics file.
"""

import json
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer
from rocrate.model.computerlanguage import ComputerLanguage
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from fe_data.files.writing import replacing
from figures.pipeline.paths import ROOT, picture_path, tables_below
from figures.pipeline.provenance import file_digest
from figures.report.tables import RUNS

# Contents alone decide about its bytes: sorted, of one time and of no user.
TAR = [
    "tar",
    "--create",
    "--sort=name",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=u+w,go-w,a+rX",
    "--use-compress-program=gzip -n9",
]
SITE = "build/docs"  # of `make docs`
ARTICLE = "build/article.pdf"  # of `make article`
PROGRAM = ["File", "SoftwareSourceCode"]
PROFILES = {  # https://www.researchobject.org/workflow-run-crate/profiles/
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
}
PIP = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]


def output(*command: str | Path) -> str:
    """What a program prints, run at the top of the checkout."""
    return subprocess.run(
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout


def python_lock() -> str:
    """Packages that setup.sh installs with pip, and hashes of their files, as pip finds them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    report = json.loads(output(*PIP, "--report", "-", "--constraint", "constraints.txt", *wanted))
    lines = [f"# {platform.platform()}, Python {platform.python_version()}\n"]
    for package in sorted(report["install"], key=lambda each: each["metadata"]["name"].lower()):
        name = package["metadata"]["name"]
        version = package["metadata"]["version"]
        digest = package["download_info"]["archive_info"]["hash"].replace("=", ":")
        lines.append(f"{name}=={version} --hash={digest}\n")
    return "".join(lines)


def debian_lock() -> str:
    """Debian packages of this machine, and the hashes of their files, where apt knows them."""
    if not shutil.which("dpkg-query") or not shutil.which("apt-cache"):
        return ""
    installed = output("dpkg-query", "--show", "--showformat=${Package}=${Version}\\n").split()
    known = subprocess.run(["apt-cache", "show", *installed], capture_output=True, encoding="utf-8")
    fields = r"^Package: (.*)\n(?:.+\n)*?Version: (.*)\n(?:.+\n)*?SHA256: (.*)$"
    found = re.findall(fields, known.stdout, re.MULTILINE)
    hashes = {f"{name}={version}": f" sha256:{digest}" for name, version, digest in found}
    return "".join(f"{package}{hashes.get(package, '')}\n" for package in installed)


def collect(folder: Path) -> None:
    """Sources, tables, metrics and figures of the commit, results that belong to them, locks."""
    folder.mkdir()
    output("git", "archive", "--output", folder / "tar", "HEAD")
    output("tar", "--extract", "--directory", folder, "--file", folder / "tar")
    (folder / "tar").unlink()
    for name, source in {SITE: ".", **{f"figures/{run}": f"figures/{run}" for run in RUNS}}.items():
        changed = output("git", "status", "--porcelain", "--", source)
        if (ROOT / name / "index.html").is_file() and not changed:
            shutil.copytree(ROOT / name, folder / name, dirs_exist_ok=True)
    if (ROOT / ARTICLE).is_file() and not output("git", "status", "--porcelain"):
        shutil.copy2(ROOT / ARTICLE, folder)
    (folder / "requirements.lock").write_text(python_lock(), encoding="utf-8")
    (folder / "debian.lock").write_text(debian_lock(), encoding="utf-8")


def metadata(folder: Path, commit: str, date: datetime) -> dict[str, Any]:
    """RO-Crate metadata of a folder: its files, and the runs that made the metrics in it."""
    about = json.loads((folder / "codemeta.json").read_text(encoding="utf-8"))
    crate = ROCrate(folder, init=True, version="1.1")

    def named(identifier: str, kind: str, name: str) -> Any:
        described = {"@type": kind, "name": name}
        return crate.add(ContextEntity(crate, identifier, properties=described))

    def entities(paths: Iterable[Path]) -> list[Any]:
        return [crate.get(str(path.relative_to(folder))) for path in paths if path.is_file()]

    crate.name = about["name"]
    crate.datePublished = date
    crate.description = f"{about['description']}; commit {commit}"
    crate.license = named(about["license"], "CreativeWork", about["license"].split("/")[-1])
    crate.root_dataset["author"] = named("#authors", "Organization", about["author"][0]["name"])
    doit = ComputerLanguage(
        crate, "#doit", properties={"name": "doit", "url": "https://pydoit.org"}
    )
    workflow = crate.add_workflow(folder / "dodo.py", "dodo.py", main=True, lang=crate.add(doit))
    for identifier, name in PROFILES.items():
        crate.root_dataset.append_to("conformsTo", named(identifier, "CreativeWork", name))
    tables = {file_digest(path): path for path in tables_below(folder)}
    for path in sorted(file for run in RUNS for file in (folder / "figures" / run).glob("*.json")):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        run = path.parent
        source = metrics["provenance"]
        read = [tables[digest] for digest in source["inputs_sha256"].values() if digest in tables]
        name = f"notebooks/{path.stem}.ipynb"
        notebook = crate.add_file(folder / name, name, properties={"@type": PROGRAM, "name": name})
        action = crate.add_action(
            [workflow, notebook],
            identifier=f"#{run.name}-{path.stem}",
            object=entities(read),
            result=entities([path, *(picture_path(run, name) for name in metrics["figures"])]),
            properties={
                "name": f"{path.stem} on {RUNS[run.name]}",
                "description": f"commit {source['commit']}, seed {source['seed']}",
            },
        )
        crate.root_dataset.append_to("mentions", action)
    document: dict[str, Any] = crate.metadata.generate()
    for entity in document["@graph"]:  # machines differ in the order in which they list a folder
        if isinstance(entity.get("hasPart"), list):
            entity["hasPart"].sort(key=itemgetter("@id"))
    document["@graph"].sort(key=itemgetter("@id"))
    return document


def main(out: Path = ROOT / "dist") -> None:
    """Write the archive of the last commit into a folder."""
    if not (ROOT / ".git").exists():
        sys.exit("error: an archive is made in a clone, and there is no git repository here")
    commit, seconds = output("git", "show", "-s", "--format=%h %ct", "--abbrev=12").split()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / f"composite-bnn-{commit}"
        collect(folder)
        document = metadata(folder, commit, datetime.fromtimestamp(int(seconds), UTC))
        (folder / "ro-crate-metadata.json").write_text(
            json.dumps(document, indent=1), encoding="utf-8"
        )
        files = sorted(filter(Path.is_file, folder.rglob("*")))
        sums = [f"{file_digest(file)}  {file.relative_to(folder)}\n" for file in files]
        (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        path = out.resolve() / f"{folder.name}.tar.gz"
        packed = Path(temporary) / path.name
        time = f"--mtime=@{seconds}"
        output(*TAR, time, "--directory", temporary, "--file", packed, folder.name)
        with packed.open("rb") as source, replacing(path, b"\x1f\x8b") as target:
            shutil.copyfileobj(source, target)
    print(f"{path}: {len(files) + 1} files, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    typer.run(main)
