"""The choice of steps, on an objective whose minimum is known."""

import threading
from types import SimpleNamespace

import pytest
import torch

from bnn.gauss_newton.levenberg_marquardt import StoppingRule, minimise


@pytest.mark.parametrize(("lengths", "expected"), [((1.0,), 8.0), ((1.0, 0.5, 0.25), 4.0)])
def test_a_step_that_goes_too_far_is_shortened(lengths, expected):
    """Of |ω| the step from 8 to -16 makes it worse, half of it ends at -4."""
    overshooting = SimpleNamespace(
        lengths=lengths,
        loss=lambda weights, _: weights.abs().sum(dim=1),
        step=lambda weights, *_: -3.0 * weights,
    )
    start, stop = torch.tensor([[8.0], [-8.0]], dtype=torch.float64), threading.Event()
    weights, record, _ = minimise(overshooting, start, StoppingRule(1), stop)
    torch.testing.assert_close(weights.abs(), torch.full_like(start, expected))
    assert record[1].tolist() == [expected, expected]
