"""The one-dimensional example in small, run once."""

import pytest

from figures.example_1d.ensembles import run
from figures.pipeline.processes import repeated
from figures.pipeline.settings import Example1D


@pytest.fixture(scope="session")
def repeats():
    settings = Example1D(
        repeats=2, n_pretrained=6, n_members=4, prior_points=40, pretrain_epochs_scale=0.02
    )
    return repeated(run, settings, "published", seed=1, repeats=settings.repeats)
