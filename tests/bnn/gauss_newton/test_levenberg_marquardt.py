"""The choice of steps, on objectives whose minimum is known."""

import threading

import pytest
import torch

from bnn.gauss_newton.levenberg_marquardt import StoppingRule, minimise


class Overshooting:
    """Objective |ω| with steps that go three times too far."""

    def __init__(self, *lengths):
        self.lengths = lengths

    def loss(self, weights, members):
        return weights.abs().sum(dim=1)

    def step(self, weights, members, damping):
        return -3.0 * weights


@pytest.mark.parametrize(("lengths", "expected"), [((1.0,), 8.0), ((1.0, 0.5, 0.25), 4.0)])
def test_a_step_that_goes_too_far_is_shortened(lengths, expected):
    """From 8 to -16, which is worse, or half of the way, to -4."""
    start, stop = torch.tensor([[8.0], [-8.0]], dtype=torch.float64), threading.Event()
    weights, record, _ = minimise(Overshooting(*lengths), start, StoppingRule(1), stop)
    torch.testing.assert_close(weights.abs(), torch.full_like(start, expected))
    assert record[1].tolist() == [expected, expected]
