"""The ensembles: functions that do the paper's Algorithms 1 to 3, and estimators on top of them."""

from bnn.ensembles.anchoring import REGULARISERS, AnchoredEnsemble, anchor
from bnn.ensembles.base import ConstantInputWarning
from bnn.ensembles.fitting import data_gradient
from bnn.ensembles.function_anchoring import (
    FunctionAnchoredEnsemble,
    FunctionAnchoring,
    anchor_functions,
)
from bnn.ensembles.networks import Members
from bnn.ensembles.pretraining import Pretrained, PriorRangeWarning, pretrain
from bnn.ensembles.vanilla import VanillaEnsemble, train_vanilla

__all__ = [
    "REGULARISERS",
    "AnchoredEnsemble",
    "ConstantInputWarning",
    "FunctionAnchoredEnsemble",
    "FunctionAnchoring",
    "Members",
    "Pretrained",
    "PriorRangeWarning",
    "VanillaEnsemble",
    "anchor",
    "anchor_functions",
    "data_gradient",
    "pretrain",
    "train_vanilla",
]
