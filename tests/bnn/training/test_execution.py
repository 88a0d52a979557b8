"""Steps of training read nothing back and use the same memory, as a recorded graph needs."""

import multiprocessing

import numpy as np
import pytest
import torch

from bnn import MLP


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
