"""The scripts of the guide that the Slurm environment runs."""

from tests.repository.environments import slurm


def test_the_scripts_of_the_guide_are_run_with_another_number_of_jobs():
    found = slurm.scripts(4)
    assert set(found) == {"array.sh", "send.sh", "dask_cells.py"}
    assert "--array=1-4 " in found["array.sh"]
    assert '"$SLURM_ARRAY_TASK_ID/4"' in found["array.sh"]
    assert "minimum_jobs=4, maximum_jobs=4" in found["dask_cells.py"]
    assert not any(slurm.JOBS_OF_GUIDE in code for code in found.values())
