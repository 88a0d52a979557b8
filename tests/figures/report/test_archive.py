"""What `make archive` writes: whole, checked, the same each time, and described."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

from figures.pipeline.paths import ROOT

rocrate = pytest.importorskip("rocrate", reason="make environment installs rocrate")
from figures.report import archive  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("git"), reason="no repository here"
)


def write(out):
    """An archive of the last commit, unpacked; its path and its folder."""
    archive.main(out)
    (path,) = out.glob("*.tar.gz")
    subprocess.run(["tar", "--extract", "--file", path, "--directory", out], check=True)
    return path, out / path.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write(tmp_path_factory.mktemp("archive"))


@pytest.mark.slow
def test_it_has_every_file_of_the_commit_and_describes_it(written):
    names = archive.output("git", "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")[:-1]
    assert not [name for name in names if not (written[1] / name).exists()]
    document = json.loads((written[1] / "ro-crate-metadata.json").read_text())
    assert document["@context"] == "https://w3id.org/ro/crate/1.1/context"
    graph = {unquote(entity["@id"]): entity for entity in document["@graph"]}
    assert set(names) <= set(graph)
    assert archive.output("git", "rev-parse", "HEAD")[:12] in graph["./"]["description"]
    assert (written[1] / "setup.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
def test_the_checksums_are_of_all_files_and_find_a_change(written, tmp_path):
    folder = shutil.copytree(written[1], tmp_path / "copy")
    check = ["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=folder).returncode == 0
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    listed = {line[66:] for line in sums}
    present = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert listed == present - {"SHA256SUMS"}
    (folder / "figures" / "full" / "02_example_1d.json").write_text("{}")
    assert subprocess.run(check, cwd=folder, capture_output=True).returncode == 1


def commit_said_by(path):
    """What a copy of the module says of its commit."""
    spec = importlib.util.spec_from_file_location("copied_record", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.provenance()["commit"]


@pytest.mark.slow
def test_code_of_an_archive_knows_its_commit_also_within_another_repository(written, tmp_path):
    name = "fe_data/dataset/record.py"
    commit = archive.output("git", "rev-parse", "HEAD")[:12]
    assert commit_said_by(written[1] / name) == f"{commit}-archive"
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "other"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)
    assert commit_said_by(shutil.copy(written[1] / name, tmp_path)) == f"{commit}-archive"
    assert commit_said_by(shutil.copy(ROOT / name, tmp_path)) == "unknown"


def test_to_ask_for_the_commit_takes_no_lock(tmp_path):
    """A lock of a process that is killed would stop the user's git."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    path = shutil.copy(ROOT / "fe_data/dataset/record.py", tmp_path)
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True)
    Path(path).touch()  # after which `git status` writes the index anew
    before = (tmp_path / ".git" / "index").stat().st_mtime_ns
    assert re.fullmatch("[0-9a-f]{12}", commit_said_by(path))
    assert (tmp_path / ".git" / "index").stat().st_mtime_ns == before


@pytest.mark.slow
def test_it_depends_on_the_commit_alone(written, tmp_path):
    assert write(tmp_path / "again")[0].read_bytes() == written[0].read_bytes()
