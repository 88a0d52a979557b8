"""A run of the study of the gain with few networks and epochs."""

import pytest

from figures.beyond.ablation.ensembles import load_training_draws
from figures.composite.reference import load_reference
from figures.pipeline.settings import Ablation, Case

SIZES = {
    "cases": {
        "outd": Case(design="train_beta", count=12),
        "ind25": Case(design="train_uniform", count=8),
    },
    "draws": 2,
    "repeats": 2,
    "choosing": 2,
    "n_members": 4,
    "n_pretrained": 4,
    "prior_points": 40,
    "pretrain_epochs": 20,
    "epochs": 10,
    "tuned": (5, 10),
    "numbers": (2, 4),
    "experiments": 2,
    "path": (5, 10),
    "members": (4, 6),
    "widths": (8,),
}


@pytest.fixture(scope="session")
def settings():
    return Ablation(**SIZES)


@pytest.fixture(scope="session")
def draws(settings):
    return load_training_draws(settings)[: settings.draws]


@pytest.fixture(scope="session")
def reference():
    return load_reference()
