"""Test environments: what they reject and remember, and the scripts of the guide that one runs."""

import os

from tests.repository.environments import debian, slurm


def test_without_programs_they_say_so_and_fail_no_run_of_ci(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LANES", str(tmp_path / "environments"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert debian.main(["trixie"]) == 1
    assert "trixie not run: " in capsys.readouterr().out
    assert debian.main(["trixie", "--if-changed"]) == 0
    assert slurm.main([]) == 0
    assert "Slurm not run: slurmctld is missing: apt-get" in capsys.readouterr().out


def test_an_unchanged_environment_is_not_run_again(tmp_path, monkeypatch):
    """A run that failed, or that took some of the tests, is no reason to skip one."""
    monkeypatch.setattr(debian, "refuse_impossible", lambda _: None)
    monkeypatch.setattr(debian, "make", lambda *_: None)
    codes = iter([0, 1, 0])
    monkeypatch.setattr(debian, "run_tests", lambda *_: next(codes))
    assert debian.run_environment("sid", tmp_path, ["-k", "mesh"], if_changed=False) == 0
    found = [debian.run_environment("sid", tmp_path, [], if_changed=True) for _ in range(3)]
    assert found == [1, 0, 0]


def test_the_scripts_of_the_guide_are_run_with_another_number_of_jobs():
    found = slurm.scripts(4)
    assert set(found) == {"array.sh", "send.sh", "dask_cells.py"}
    assert "--array=1-4 " in found["array.sh"]
    assert '"$SLURM_ARRAY_TASK_ID/4"' in found["array.sh"]
    assert "minimum_jobs=4, maximum_jobs=4" in found["dask_cells.py"]
    assert not any(slurm.JOBS_OF_GUIDE in code for code in found.values())
