"""One file that outlives the repository: python -m figures.report.archive.

It has what git has at the commit, the pages of runs, the site and the article where nothing behind
them is uncommitted, locks of all packages, checksums, and the metadata of a Workflow Run RO-Crate.
"""

import json
import shutil
import subprocess
import sys
import tomllib
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
]
TAR.append("--use-compress-program=gzip -n9")
SITE = "build/docs"  # of `make docs`
ARTICLE = "build/article.pdf"  # of `make article`
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
    lines = []
    for package in report["install"]:
        about = package["metadata"]
        digest = package["download_info"]["archive_info"]["hash"].replace("=", ":")
        lines.append(f"{about['name']}=={about['version']} --hash={digest}\n")
    return "".join(sorted(lines, key=str.lower))


def debian_lock() -> str:
    """Debian packages of this machine."""
    if not shutil.which("dpkg-query"):
        return ""
    return output("dpkg-query", "--show", "--showformat=${Package}=${Version}\\n")


def collect(folder: Path) -> None:
    """Files of the commit, results that belong to them, locks."""
    folder.mkdir()
    output("git", "archive", "--output", folder / "tar", "HEAD")
    output("tar", "--extract", "--directory", folder, "--file", folder / "tar")
    (folder / "tar").unlink()
    sources = {f"figures/{run}": f"figures/{run}" for run in RUNS} | {SITE: "."}
    for name, source in sources.items():
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

    crate.name = about["name"]
    crate.datePublished = date
    crate.description = f"{about['description']}; commit {commit}"
    crate.license = named(about["license"], "CreativeWork", about["license"].split("/")[-1])
    crate.root_dataset["author"] = named("#authors", "Organization", about["author"][0]["name"])
    doit = {"name": "doit", "url": "https://pydoit.org"}
    language = crate.add(ComputerLanguage(crate, "#doit", properties=doit))
    workflow = crate.add_workflow(folder / "dodo.py", "dodo.py", main=True, lang=language)
    for identifier, name in PROFILES.items():
        crate.root_dataset.append_to("conformsTo", named(identifier, "CreativeWork", name))
    tables = {file_digest(path): path for path in tables_below(folder)}
    for path in sorted(file for run in RUNS for file in (folder / "figures" / run).glob("*.json")):
        metrics = json.loads(path.read_text(encoding="utf-8"))
        run, made = path.parent, metrics["provenance"]
        read = [tables[digest] for digest in made["inputs_sha256"].values() if digest in tables]
        results = [path, *(picture_path(run, name) for name in metrics["figures"])]
        name = f"notebooks/{path.stem}.ipynb"
        program = {"@type": ["File", "SoftwareSourceCode"], "name": name}
        action = crate.add_action(
            [workflow, crate.add_file(folder / name, name, properties=program)],
            identifier=f"#{run.name}-{path.stem}",
            object=[crate.get(str(each.relative_to(folder))) for each in read],
            result=[crate.get(str(p.relative_to(folder))) for p in results if p.is_file()],
            properties={
                "name": f"{path.stem} on {RUNS[run.name]}",
                "description": f"commit {made['commit']}, seed {made['seed']}",
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
        described = folder / "ro-crate-metadata.json"
        described.write_text(json.dumps(document, indent=1), encoding="utf-8")
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
