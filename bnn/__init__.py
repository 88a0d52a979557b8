"""Bayesian neural networks as anchored ensembles with functional priors."""

import importlib

from bnn import evidence, metrics, reference
from bnn.base import ConstantInputWarning
from bnn.data import BoundsScaler
from bnn.ensembles import AnchoredEnsemble, VanillaEnsemble, load
from bnn.kernels import RBF, Linear, Matern12, Matern32, Matern52, Periodic, RationalQuadratic
from bnn.networks import Architecture
from bnn.pretraining import PriorRangeWarning
from bnn.priors import (
    GaussianProcessPrior,
    LinearMean,
    RandomMean,
    SamplerPrior,
    TablePrior,
    latin_hypercube,
)
from bnn.probabilistic_pca import ProbabilisticPCA
from bnn.settings import Convergence, FunctionAnchoring, TrainingSettings
from bnn.training import DivergenceError, DivergenceWarning, train
from bnn.weight_priors import (
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
)
from bnn.weight_statistics import layer_statistics

__all__ = [
    "RBF",
    "AnchoredEnsemble",
    "Architecture",
    "BoundsScaler",
    "ConstantInputWarning",
    "Convergence",
    "DivergenceError",
    "DivergenceWarning",
    "FactorisedGaussian",
    "FactorisedGeneralisedNormal",
    "FunctionAnchoring",
    "GaussianProcessPrior",
    "IsotropicGaussian",
    "Linear",
    "LinearMean",
    "LowRankGaussian",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "PriorRangeWarning",
    "ProbabilisticPCA",
    "RandomMean",
    "RationalQuadratic",
    "SamplerPrior",
    "TablePrior",
    "TrainingSettings",
    "VanillaEnsemble",
    "evidence",
    "latin_hypercube",
    "layer_statistics",
    "load",
    "metrics",
    "plots",
    "reference",
    "train",
]


def __getattr__(name: str):
    """Import the pictures when they are asked for: pyplot takes a second."""
    if name == "plots":
        return importlib.import_module("bnn.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
