"""The CUDA path, run on the CPU: recording, replay, and no read-back inside the loop.

Nothing here needs a GPU. What only a GPU can show, its kernels and its speed, is not tested.
"""

import contextlib
import multiprocessing

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import bnn.training.members
from bnn import MLP, TrainingSettings
from bnn._progress import progress_bar, titled
from bnn.ensembles.weight_priors import FactorisedGeneralisedNormal, LowRankGaussian
from bnn.training.execution import capture
from bnn.training.loop import train
from bnn.training.members import MemberGroup, Objective
from tests.bnn.training.problem import ARCHITECTURE, objective_near, problem


class RecordedStream:
    """Stands for a CUDA stream."""

    def wait_stream(self, other):
        assert isinstance(other, RecordedStream)


class RecordedGraph:
    """Stands for a CUDA graph: replay runs what was recorded."""

    def replay(self):
        self.recorded()


@pytest.fixture
def cuda_on_cpu(monkeypatch):
    """Replace torch.cuda's streams and graphs, and record functions instead of kernels."""
    calls = []

    @contextlib.contextmanager
    def recording(graph):
        graph.recorded = calls[-1]
        yield

    monkeypatch.setattr(torch.cuda, "Stream", RecordedStream)
    monkeypatch.setattr(torch.cuda, "current_stream", RecordedStream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", RecordedGraph)
    monkeypatch.setattr(torch.cuda, "graph", recording)

    def remembered(function, restore):
        calls.append(function)
        return capture(function, restore)

    return remembered


class ReplayedGroup(MemberGroup):
    """A group on the CPU that takes the path of a GPU."""

    def __init__(self, *args):
        super().__init__(*args)
        self._steps = bnn.training.members.capture(self.steps, self._restart)


@pytest.mark.parametrize("bias_correction", [True, False])
def test_replayed_graph_trains_as_the_plain_loop(cuda_on_cpu, monkeypatch, bias_correction):
    """Warming up and recording leave no trace: weights equal those of the plain loop."""
    weights, X, y, seeds = problem()
    settings = TrainingSettings(epochs=15, batch_size=16, bias_correction=bias_correction)
    plain = train(ARCHITECTURE, weights, X, y, settings, seeds=seeds)
    monkeypatch.setattr(bnn.training.members, "capture", cuda_on_cpu)
    monkeypatch.setattr(bnn.training.loop, "MemberGroup", ReplayedGroup)
    replayed = train(ARCHITECTURE, weights, X, y, settings, seeds=seeds)
    np.testing.assert_array_equal(replayed.weights, plain.weights)
    np.testing.assert_array_equal(replayed.losses, plain.losses)


class NoReadBack(TorchDispatchMode):
    """Fails at any operation that would wait for the device or move data to the host."""

    FORBIDDEN = ("_local_scalar_dense", "nonzero", "_to_copy", "item", "is_nonzero", "equal")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.split(".")[0]
        if name == "_to_copy" and "device" not in (kwargs or {}):
            name = "cast"
        assert name not in self.FORBIDDEN, f"{function} inside the loop"
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("kind", [None, LowRankGaussian, FactorisedGeneralisedNormal])
def test_steps_read_nothing_back(kind):
    """No operation of an epoch's steps synchronises, with and without prior."""
    weights, X, y, seeds = problem()
    settings = TrainingSettings(epochs=2, batch_size=16)
    goal = Objective() if kind is None else objective_near(weights, kind)
    group = MemberGroup(ARCHITECTURE, weights, X, y, settings, seeds, goal, torch.device("cpu"))
    with torch.no_grad(), NoReadBack():
        group.steps()
    assert torch.isfinite(group.loss).all()


def test_the_guard_notices_a_read_back():
    """The test above can fail."""
    with pytest.raises(AssertionError, match="inside the loop"), NoReadBack():
        torch.ones(1).item()


def test_steps_use_the_same_buffers_every_epoch():
    """A replayed graph sees the addresses of its recording: none may change."""
    weights, X, y, seeds = problem()
    settings = TrainingSettings(epochs=3, batch_size=16)
    group = MemberGroup(
        ARCHITECTURE, weights, X, y, settings, seeds, Objective(), torch.device("cpu")
    )

    def addresses():
        tensors = (group.weights.flat, group.gradients.flat, group.data.X, group.data.y, group.loss)
        return [tensor.data_ptr() for tensor in tensors]

    before = addresses()
    group.run_epoch(0)
    group.run_epoch(1)
    assert addresses() == before


def test_progress_is_a_line_every_few_seconds_where_no_terminal_is(capsys, monkeypatch):
    """A piped log: no carriage returns, a line at the start, in between and at the end."""
    now = iter(range(0, 1000, 2))  # each look at the clock is 2 s later
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(now)))
    with progress_bar(20, "training", "epoch") as bar:
        for _ in range(20):
            bar.update()
    printed = capsys.readouterr().err
    assert "\r" not in printed
    lines = printed.splitlines()
    assert lines[0].startswith("training: 0%, 0 of 20 epochs, ")
    assert lines[-1].startswith("training: 100%, 20 of 20 epochs, ")
    assert 5 <= len(lines) <= 12


@pytest.mark.parametrize(("seconds", "shown"), [(0.05, False), (0.2, True)])
def test_on_a_terminal_a_bar_shows_after_two_seconds(capsys, monkeypatch, seconds, shown):
    """Of 20 steps, one second or four in all, where nobody asked for a bar."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    now = iter(np.arange(0.0, 100.0, seconds))
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(now)))
    with progress_bar(20, titled("training", None), "epoch") as bar:
        for _ in range(20):
            bar.update()
    assert ("training" in capsys.readouterr().err) == shown


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_networks_are_evaluated_in_a_forked_child_after_their_parent_used_threads():
    """PyTorch's pool of threads is not forked, and a child that counted on it waited for ever."""
    network = MLP((2, 50, 1))
    weights = network.initial_weights(4, random_state=0)
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        expected = network.forward(weights, X)
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=lambda: sender.send(network.forward(weights, X).sum()))
        child.start()
        arrived = receiver.poll(30)
        child.kill()
        child.join()
        assert torch.get_num_threads() == 2  # the parent keeps its threads
    finally:
        torch.set_num_threads(threads)
    assert arrived
    assert receiver.recv() == pytest.approx(expected.sum(), rel=1e-6)


@pytest.mark.parametrize(
    ("progress", "seconds", "shown"),
    [(None, 1.0, False), (None, 5.0, True), (False, 5.0, False), (True, 1.0, True)],
)
def test_elsewhere_lines_show_in_long_calls_or_where_they_are_asked_for(
    capsys, monkeypatch, progress, seconds, shown
):
    """Of 20 steps, which take 20 s or 100 s."""
    now = iter(np.arange(0.0, 1000.0, seconds))
    monkeypatch.setattr("tqdm.std.time", lambda: float(next(now)))
    with progress_bar(20, titled("training", progress), "epoch") as bar:
        for _ in range(20):
            bar.update()
    printed = capsys.readouterr().err
    assert ("training: 100%, 20 of 20 epochs" in printed) == shown
    assert ("training" in printed) == shown
