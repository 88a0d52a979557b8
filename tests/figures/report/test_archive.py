"""What `make archive` writes: whole, checked, the same each time, and described."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from figures.pipeline.paths import ROOT
from tests.figures.report.committed import committed_run
from tests.repository.validators import validate, validators

rocrate = pytest.importorskip("rocrate", reason="make environment installs rocrate")
from figures.report import archive  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("git"), reason="no repository here"
)
LOCK = "a==1 --hash=sha256:00\n"


def write(out):
    """An archive of the last commit with short locks, unpacked; its path and its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "python_lock", lambda: LOCK)
        patch.setattr(archive, "debian_lock", lambda: LOCK)
        archive.main(out)
    (path,) = out.glob("*.tar.gz")
    subprocess.run(["tar", "--extract", "--file", path, "--directory", out], check=True)
    return path, out / path.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def graph(written):
    document = json.loads((written[1] / "ro-crate-metadata.json").read_text())
    assert document["@context"] == "https://w3id.org/ro/crate/1.1/context"
    return {entity["@id"]: entity for entity in document["@graph"]}


@pytest.mark.slow
def test_it_has_every_file_of_the_commit_and_the_locks(written):
    names = archive.output("git", "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")
    assert not [name for name in names if not (written[1] / name).exists()]
    assert (written[1] / "requirements.lock").read_text() == LOCK
    assert (written[1] / "setup.sh").stat().st_mode & 0o777 == 0o755


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


def test_every_metrics_file_names_its_notebook_commit_seed_and_tables(graph):
    """Every table that a full run read is in the archive; the authors' are not ours to give."""
    found = 0
    for run in ("full", "full-authors"):
        for name, metrics in committed_run(run).items():
            action = graph[f"#{run}-{name}"]
            source = metrics["provenance"]
            notebook = {"@id": f"notebooks/{name}.ipynb"}
            assert action["instrument"] == [{"@id": "dodo.py"}, notebook]
            assert f"notebooks/{name}.ipynb" in graph
            assert action["description"] == f"commit {source['commit']}, seed {source['seed']}"
            ids = [part["@id"] for part in as_list(action["result"])]
            assert f"figures/{run}/{name}.json" in ids
            pictures = {f"figures/{run}/{picture}" for picture in metrics["figures"]}
            assert (pictures <= set(ids)) == (run == "full")
            if run == "full":
                tables = as_list(action.get("object", []))
                assert len(tables) == len(source["inputs_sha256"])
                found += len(tables)
            assert {"@id": action["@id"]} in graph["./"]["mentions"]
    assert found > 10


def as_list(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.slow
def test_page_site_and_article_go_with_what_is_committed_only(tmp_path, monkeypatch):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", clone], check=True)
    monkeypatch.setattr(archive, "ROOT", clone)
    for name in ("python_lock", "debian_lock"):
        monkeypatch.setattr(archive, name, str)
    page = clone / "figures" / "full" / "index.html"
    page.write_text("page")
    site = clone / archive.SITE / "index.html"
    site.parent.mkdir(parents=True)
    site.write_text("site")
    (clone / archive.ARTICLE).write_bytes(b"article")
    archive.collect(tmp_path / "a")
    assert (tmp_path / "a" / "article.pdf").read_bytes() == b"article"
    assert (tmp_path / "a" / archive.SITE / "index.html").read_text() == "site"
    assert (tmp_path / "a" / "figures" / "full" / "index.html").read_text() == "page"
    (clone / "figures" / "full" / "02_example_1d.json").write_text("{}")
    archive.collect(tmp_path / "b")
    assert not (tmp_path / "b" / "figures" / "full" / "index.html").exists()
    assert not (tmp_path / "b" / archive.SITE).exists()
    assert not (tmp_path / "b" / "article.pdf").exists()


def test_without_a_repository_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="no git repository here"):
        archive.main(tmp_path)


@pytest.mark.slow
def test_pip_accepts_the_lock_of_python(tmp_path):
    """Three of its packages, since pip has to load the whole of each to compare hashes."""
    lock = tmp_path / "requirements.lock"
    packages = re.findall(r"^(?:joblib|numpy|rocrate)==.*\n", archive.python_lock(), re.MULTILINE)
    assert len(packages) == 3
    lock.write_text("".join(packages))
    command = [*archive.PIP, "--no-deps", "--require-hashes", "--requirement", lock]
    assert subprocess.run(command).returncode == 0


# The validator reads the context that a crate names: rocrate has a copy, of a later version with
# the same terms and more, of which a workflow has another address.
SEED = """
import io, pathlib, sys
import requests.adapters, requests_cache, urllib3

class Served(requests.adapters.HTTPAdapter):
    def send(self, request, **_):
        later = pathlib.Path(sys.argv[2]).read_bytes()
        body = io.BytesIO(later.replace(b"https://bioschemas.org/terms/", b"https://bioschemas.org/"))
        kind = {"Content-Type": "application/ld+json"}
        served = urllib3.HTTPResponse(body, kind, 200, preload_content=False)
        return self.build_response(request, served)

session = requests_cache.CachedSession(sys.argv[1], backend="sqlite", expire_after=-1)
session.mount("https://w3id.org/", Served())
accepted = {"Accept": "application/ld+json, application/json"}
session.get("https://w3id.org/ro/crate/1.1/context", headers=accepted)
"""


@pytest.mark.slow
def test_the_validator_of_ro_crate_accepts_it_and_not_one_without_its_workflow(written, tmp_path):
    context = f"{rocrate.__path__[0]}/data/ro-crate.jsonld"
    cache = tmp_path / "cache"
    subprocess.run([validators() / "python", "-c", SEED, cache, context], check=True)
    options = [
        "-y",
        "validate",
        "--offline",
        "--cache-path",
        cache,
        "--no-paging",
        "-v",
        "--profile-identifier",
        "workflow-run-crate-0.5",
    ]
    validate("rocrate-validator", *options, written[1])
    folder = shutil.copytree(written[1], tmp_path / "broken")
    described = folder / "ro-crate-metadata.json"
    described.write_text(described.read_text().replace('"mainEntity"', '"someEntity"'))
    with pytest.raises(AssertionError, match="Main Workflow"):
        validate("rocrate-validator", *options, folder)
