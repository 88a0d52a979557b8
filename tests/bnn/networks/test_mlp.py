"""Architectures and initialisation."""

import multiprocessing

import numpy as np
import pytest
import torch

from bnn import MLP


def test_groups_partition_the_weights():
    """Kernels and biases cover each weight once, as many as the paper's networks have."""
    assert MLP((1, 50, 50, 50, 50, 1)).n_weights == 7801
    assert MLP((4, 20, 20, 20, 20, 5)).n_weights == 1465
    architecture = MLP((3, 4, 2))
    covered = np.concatenate([np.arange(100)[s] for s in architecture.groups.values()])
    assert np.array_equal(np.sort(covered), np.arange(architecture.n_weights))


def test_forward_by_hand():
    """A 1-1-1 leaky ReLU network is w1 max(z, 0.01 z) + b1 with z = w0 x + b0."""
    architecture = MLP((1, 1, 1))
    weights = np.array([[2.0, -1.0, 3.0, 0.5]])
    X = np.array([[0.0], [1.0]])
    expected = [[[3.0 * 0.01 * -1.0 + 0.5], [3.0 * 1.0 + 0.5]]]
    np.testing.assert_allclose(architecture.forward(weights, X), expected)


def test_forward_of_own_inputs_equals_forward_of_shared_inputs():
    """(K, n, n_in) with equal slices is (n, n_in); arrays and tensors agree."""
    architecture = MLP((2, 5, 3))
    weights = architecture.initial_weights(4, 0)
    X = np.random.default_rng(0).standard_normal((6, 2)).astype(np.float32)
    shared = architecture.forward(weights, X)
    np.testing.assert_array_equal(architecture.forward(weights, np.stack([X] * 4)), shared)
    np.testing.assert_array_equal(architecture.forward(torch.as_tensor(weights), X), shared)


@pytest.mark.parametrize(("init", "variance"), [("glorot", 2.0 / 150), ("he", 2.0 / 1.0001 / 100)])
def test_initial_variance(init, variance):
    """Kernels have Glorot's or He's variance, biases are zero."""
    architecture = MLP((100, 50, 1))
    weights = architecture.initial_weights(200, 0, init)
    kernel = weights[:, architecture.groups["W0"]]
    # Sampling error of a variance from 10^6 draws is below 0.2 %; 1 % allows five of these.
    assert kernel.var() == pytest.approx(variance, rel=0.01)
    assert not weights[:, architecture.groups["b0"]].any()


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
