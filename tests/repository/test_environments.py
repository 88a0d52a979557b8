"""What the test environments copy, and the scripts of the guide that the Slurm environment runs."""

import pytest

from figures.pipeline.dependencies import imported_names
from tests.repository.environments import debian, pythons, slurm
from tests.repository.environments.common import ROOT


def test_the_other_debian_gets_the_packages_of_this_repository_that_its_tests_import():
    # Folders without __init__.py are packages too, for instance bench.
    packages = {path.parent.name for path in ROOT.glob("*/*.py")}
    copied = {path.relative_to(ROOT) for path in debian.tested_files()}
    folders = {path.parts[0] for path in copied}
    sources = [
        path
        for folder in ("fe_data", "safe_files", "tests/fe_data")
        for path in copied
        if path.is_relative_to(folder) and path.suffix == ".py"
    ]
    assert sources
    for path in sources:
        names = imported_names((ROOT / path).read_text(encoding="utf-8"))
        missing = {name.split(".")[0] for name in names} & packages - folders
        assert not missing, f"{path} imports {missing}"


@pytest.mark.parametrize("module", [debian, pythons], ids=["dolfinx", "python"])
def test_an_environment_needs_no_options(module, monkeypatch):
    """CONTRIBUTING.md gives only its name: make test NAME=dolfinx."""

    class BegunError(Exception):
        pass

    def begin():
        raise BegunError

    monkeypatch.setattr(module, "environments_folder", begin)
    with pytest.raises(BegunError):
        module.main([])


def test_the_scripts_of_the_guide_are_run_with_another_number_of_jobs():
    scripts = slurm.scripts(4)
    assert set(scripts) == {"array.sh", "send.sh", "dask_rves.py"}
    assert "--array=1-4 " in scripts["array.sh"]
    assert '"$SLURM_ARRAY_TASK_ID/4"' in scripts["array.sh"]
    assert "minimum_jobs=4, maximum_jobs=4" in scripts["dask_rves.py"]
    assert not any(slurm.JOBS_OF_GUIDE in code for code in scripts.values())
