"""Bayesian neural networks as anchored ensembles with functional priors."""

import importlib
from types import ModuleType

from bnn import export, interop
from bnn.acquisition.choice import choose
from bnn.estimators.anchoring import AnchoredEnsemble, anchor
from bnn.estimators.components import ComponentRegressor, PrincipalComponents
from bnn.estimators.ensemble import ConstantInputWarning
from bnn.estimators.exact_posterior import ExactPosterior
from bnn.estimators.fitting import data_gradient
from bnn.estimators.function_anchoring import (
    FunctionAnchoredEnsemble,
    FunctionAnchoring,
    anchor_functions,
)
from bnn.estimators.members import Members
from bnn.estimators.pretraining import Pretrained, PriorRangeWarning, pretrain
from bnn.estimators.vanilla import VanillaEnsemble, train_vanilla
from bnn.evaluation import metrics
from bnn.evaluation.prior_check import PriorCheck, check_prior
from bnn.networks.architecture import Architecture
from bnn.noise import HeteroscedasticNoise, NoiseWarning, StudentNoise
from bnn.priors import evidence
from bnn.priors.gaussian_process import GaussianProcessPrior
from bnn.priors.kernels import (
    RBF,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
)
from bnn.priors.means import LinearMean, RandomMean
from bnn.priors.mixture import MixturePrior
from bnn.priors.samplers import SamplerPrior, TablePrior, latin_hypercube
from bnn.scaling import BoundsScaler, BoundsWarning
from bnn.storage import NotStored, load
from bnn.training.loop import DivergenceError, DivergenceWarning, train
from bnn.training.settings import Convergence, TrainingSettings
from bnn.weight_priors import (
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
    ProbabilisticPCA,
    layer_statistics,
)

__version__ = "0.1.0"

__all__ = [
    "RBF", "AnchoredEnsemble", "Architecture", "BoundsScaler", "BoundsWarning",
    "ComponentRegressor", "ConstantInputWarning", "Convergence", "DivergenceError",
    "DivergenceWarning", "ExactPosterior", "FactorisedGaussian", "FactorisedGeneralisedNormal",
    "FunctionAnchoredEnsemble", "FunctionAnchoring", "GaussianProcessPrior", "HeteroscedasticNoise",
    "IsotropicGaussian", "Linear", "LinearMean", "LowRankGaussian", "Matern12", "Matern32",
    "Matern52", "Members", "MixturePrior", "NoiseWarning", "NotStored", "Periodic", "Pretrained",
    "PrincipalComponents", "PriorCheck", "PriorRangeWarning", "ProbabilisticPCA", "RandomMean",
    "RationalQuadratic", "SamplerPrior", "StudentNoise", "TablePrior", "TrainingSettings",
    "VanillaEnsemble", "__version__", "anchor", "anchor_functions", "check_prior", "choose",
    "data_gradient", "evidence", "export", "interop", "latin_hypercube", "layer_statistics", "load",
    "metrics",
    "plots",  # noqa: F822
    "pretrain", "train", "train_vanilla",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Import the pictures when they are asked for: pyplot takes a second."""
    if name == "plots":
        return importlib.import_module("bnn.evaluation.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
