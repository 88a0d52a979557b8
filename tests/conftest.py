"""Settings of every test session: one thread a process, no display."""

import os
import signal

import pytest

# Before NumPy and PyTorch are imported: idle threads of several processes slow each other down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# Tests run make and its programs themselves: what the make that runs the tests hands on is not
# for them.
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
PARAMETERS = ("PROFILE", "DATA", "SEED", "JOBS", "NAME", "ARGS")
for name in OF_MAKE + PARAMETERS:
    os.environ.pop(name, None)

# A shell's background jobs ignore Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def interrupts():
    """Lets Ctrl-C interrupt again after a test of a whole program, which ignores it at its end."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption(
        "--blocks",
        type=int,
        default=1,
        metavar="N",
        help="blocks of tables on which the default of GPRegressor is tried, 1 to 36 (-m slow)",
    )


@pytest.fixture
def few_draws(monkeypatch):
    """Averages over few hyperparameters, for tests in which any prior that is found will do.

    A search then takes a third of the time.
    """
    monkeypatch.setattr("bnn.gp.evidence.laplace.DRAWS", (32, 32))


@pytest.fixture
def one_family(few_draws, monkeypatch):  # noqa: ARG001
    """Few draws from one family of kernels, for tests of what is done with a prior that is found.

    A search then takes a tenth of the time.
    """
    from bnn.gp.evidence.search import families_for

    monkeypatch.setattr(
        "bnn.gp.evidence.model.families_for", lambda *sizes: families_for(*sizes)[:1]
    )


@pytest.fixture
def in_this_process(monkeypatch):
    """Simulates the samples of a dataset in this process: a worker imports dolfinx for seconds."""
    monkeypatch.setattr("fe_data.dataset.executors.semaphores_work", lambda: False)


class Drawn:
    """A picture of an RVE that is drawn in no time."""

    def __init__(self, _, heading):
        self.heading = heading.encode()

    def savefig(self, file, **_):
        file.write(b"\x89PNG Software Matplotlib " + self.heading)


@pytest.fixture
def brief_picture(monkeypatch):
    """Draws no picture of an RVE, which takes longer than to solve a small one."""
    monkeypatch.setattr("fe_data.mechanics.plots.plot_rve", Drawn)


@pytest.fixture(scope="session")
def study():
    """A short study of all four weight priors, run once: few networks, fitted briefly."""
    from prior_study import StudyConfig, run

    config = StudyConfig(
        members=16, epochs_scale=0.1, prior_points=160, functions=200, grid_points=41, seed=3
    )
    return run(config)
