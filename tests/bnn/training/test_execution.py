"""Steps of training read nothing back and use the same memory, as a recorded graph needs."""

import multiprocessing

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bnn import MLP, TrainingSettings
from bnn.ensembles.weight_priors import FactorisedGeneralisedNormal, LowRankGaussian
from bnn.training.members import MemberGroup, Objective
from tests.bnn.training.problem import ARCHITECTURE, objective_near, problem


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
