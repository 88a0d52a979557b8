"""The choice of steps, on an objective whose minimum is known."""

import threading
from types import SimpleNamespace

import pytest
import torch

from bnn.training.gauss_newton.levenberg_marquardt import StoppingRule, minimise


@pytest.mark.parametrize(("lengths", "expected"), [((1.0,), 8.0), ((1.0, 0.5, 0.25), 4.0)])
def test_a_step_that_goes_too_far_is_shortened(lengths, expected):
    """Of |ω| the step from 8 to -16 makes it worse, half of it ends at -4."""
    overshooting = SimpleNamespace(
        lengths=lengths,
        loss=lambda weights, _: weights.abs().sum(dim=1),
        step=lambda weights, *_: (-3.0 * weights, torch.zeros_like(weights)),
    )
    start = torch.tensor([[8.0], [-8.0]], dtype=torch.float64)
    stop = threading.Event()
    weights, record, _ = minimise(overshooting, start, StoppingRule(1), stop)
    torch.testing.assert_close(weights.abs(), torch.full_like(start, expected))
    assert record[1].tolist() == [expected, expected]


@pytest.mark.parametrize(
    ("bend", "expected"), [(1.0, [4.0, 1.0]), (2.0, [2.0, 0.5]), (4.0, [2.0, 0.0])]
)
def test_a_bend_is_followed_as_far_as_it_is_small(bend, expected):
    """Of the step (4, 0): at the whole length 2 |a| / |v| may be 0.75, at half of it 1.5."""
    step = torch.tensor([[4.0, 0.0], [0.0, bend]], dtype=torch.float64)
    goal = torch.tensor(expected, dtype=torch.float64)
    curved = SimpleNamespace(
        lengths=(1.0, 0.5),
        loss=lambda weights, _: (weights - goal).square().sum(dim=1),
        step=lambda *_: (step[:1], step[1:]),
    )
    start = torch.zeros(1, 2, dtype=torch.float64)
    weights, *_ = minimise(curved, start, StoppingRule(1), threading.Event())
    torch.testing.assert_close(weights[0], goal)


@pytest.mark.parametrize(
    ("pace", "floor", "expected"), [(0.95, 0.0, 90), (0.9, 0.0, 44), (0.7, 0.2, 15)]
)
def test_a_member_ends_when_it_cannot_arrive_any_more(pace, floor, expected):
    """Losses floor + pace^i, from 1 to 0.01: slow ones go on, those above the floor do not."""
    fall = SimpleNamespace(
        lengths=(1.0,),
        loss=lambda weights, _: floor + weights.abs().sum(dim=1),
        step=lambda weights, *_: ((pace - 1.0) * weights, torch.zeros_like(weights)),
    )
    start = torch.ones(1, 1, dtype=torch.float64)
    stop = threading.Event()
    _, record, finished = minimise(fall, start, StoppingRule(100, loss=0.01), stop)
    iterations = int(record.isfinite().sum()) - 1
    assert finished.item() == (floor == 0.0)
    assert iterations == expected if floor == 0.0 else 30 < iterations < 50
