"""Bayesian neural networks as anchored ensembles with functional priors."""

import importlib
from types import ModuleType

from bnn import export, interop, noise, paths
from bnn.acquisition.campaign import Campaign
from bnn.acquisition.choice import choose
from bnn.estimators.anchoring import AnchoredEnsemble, Anchoring, anchor
from bnn.estimators.components import ComponentRegressor, PrincipalComponents
from bnn.estimators.exact_posterior import ExactPosterior
from bnn.estimators.function_anchoring import (
    FunctionAnchoredEnsemble,
    FunctionAnchoring,
    anchor_functions,
)
from bnn.estimators.members import Members
from bnn.estimators.pretraining import Pretrained, Pretraining, PriorRangeWarning, pretrain
from bnn.estimators.regressor import ConstantInputWarning
from bnn.estimators.vanilla import VanillaEnsemble, train_vanilla
from bnn.evaluation import metrics
from bnn.evaluation.prior_check import PriorCheck, check_prior
from bnn.evaluation.sensitivity import Sensitivity, sensitivity
from bnn.networks.architecture import Architecture
from bnn.networks.mlp import MLP
from bnn.noise import HeteroscedasticNoise, NoiseWarning, StudentNoise
from bnn.priors import evidence
from bnn.priors.conditioning import NuggetWarning
from bnn.priors.gaussian_process import FunctionPrior, GaussianProcessPrior
from bnn.priors.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
    Stationary,
)
from bnn.priors.means import LinearMean, RandomMean
from bnn.priors.mixture import MixturePrior
from bnn.priors.samplers import SamplerPrior, TablePrior
from bnn.priors.warping import Warped
from bnn.scaling import BoundsScaler, BoundsWarning, Scaling
from bnn.storage import load
from bnn.storage.version import __version__
from bnn.training.loop import DivergenceError, DivergenceWarning
from bnn.training.settings import Convergence, TrainingSettings
from bnn.weight_priors import (
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
    ProbabilisticPCA,
)

__all__ = [  # noqa: RUF022
    # estimators
    "ExactPosterior",
    "FunctionAnchoredEnsemble",
    "AnchoredEnsemble",
    "VanillaEnsemble",
    "ComponentRegressor",
    "PrincipalComponents",
    "load",
    # what estimators are built from
    "Architecture",
    "TrainingSettings",
    "Convergence",
    "Pretraining",
    "Anchoring",
    "FunctionAnchoring",
    "Scaling",
    # functional priors
    "GaussianProcessPrior",
    "MixturePrior",
    "SamplerPrior",
    "TablePrior",
    "LinearMean",
    "RandomMean",
    "evidence",
    "check_prior",
    "PriorCheck",
    # kernels
    "RBF",
    "Matern12",
    "Matern32",
    "Matern52",
    "RationalQuadratic",
    "Periodic",
    "Linear",
    "Warped",
    # bases of priors and kernels of one's own
    "FunctionPrior",
    "Kernel",
    "Stationary",
    # noise
    "noise",
    "HeteroscedasticNoise",
    "StudentNoise",
    # the algorithms as functions, and what they return
    "pretrain",
    "anchor",
    "anchor_functions",
    "train_vanilla",
    "Pretrained",
    "Members",
    "MLP",
    "BoundsScaler",
    # weight priors
    "LowRankGaussian",
    "ProbabilisticPCA",
    "FactorisedGaussian",
    "FactorisedGeneralisedNormal",
    "IsotropicGaussian",
    # what is done with a fitted estimator
    "choose",
    "Campaign",
    "sensitivity",
    "Sensitivity",
    "metrics",
    "plots",  # noqa: F822
    "export",
    "interop",
    "paths",
    # warnings and errors
    "BoundsWarning",
    "ConstantInputWarning",
    "DivergenceError",
    "DivergenceWarning",
    "NoiseWarning",
    "NuggetWarning",
    "PriorRangeWarning",
    "__version__",
]


def __getattr__(name: str) -> ModuleType:
    """Import the pictures when they are asked for: pyplot takes a second."""
    if name == "plots":
        return importlib.import_module("bnn.evaluation.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is public, and neither rooms nor what is imported here."""
    return sorted(__all__)
