"""Bayesian neural networks as anchored ensembles with functional priors."""

import importlib
from types import ModuleType

from bnn import export, interop, noise, paths
from bnn.acquisition.campaign import Campaign
from bnn.acquisition.choice import select_runs
from bnn.components import PCARegressor, PrincipalComponents
from bnn.ensembles.anchoring import AnchoredEnsemble, Anchoring, train_anchored
from bnn.ensembles.function_anchoring import (
    FunctionAnchoredEnsemble,
    FunctionAnchoring,
    train_function_anchored,
)
from bnn.ensembles.members import Members
from bnn.ensembles.pretraining import Pretrained, Pretraining, PriorRangeWarning, pretrain
from bnn.ensembles.vanilla import VanillaEnsemble, train_vanilla
from bnn.ensembles.weight_priors import (
    FactorisedGaussian,
    FactorisedGeneralisedNormal,
    IsotropicGaussian,
    LowRankGaussian,
    ProbabilisticPCA,
)
from bnn.evaluation import metrics
from bnn.evaluation.prior_check import PriorCheck, check_prior
from bnn.evaluation.sensitivity import Sensitivity, sensitivity
from bnn.gp import evidence
from bnn.gp.conditioning import NuggetWarning
from bnn.gp.evidence.given_kernel import HyperpriorWarning
from bnn.gp.kernel import Kernel, Stationary
from bnn.gp.kernels import (
    RBF,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    RationalQuadratic,
)
from bnn.gp.means import LinearMean, RandomMean
from bnn.gp.mixture import MixturePrior
from bnn.gp.process import GaussianProcessPrior
from bnn.gp.regressor import GPRegressor
from bnn.gp.warping import Warped
from bnn.networks.architecture import Architecture
from bnn.networks.mlp import MLP
from bnn.noise import HeteroscedasticNoise, NoiseWarning, StudentNoise
from bnn.priors import samplers
from bnn.priors.function_prior import FunctionPrior
from bnn.priors.samplers import *  # noqa: F403
from bnn.regressor import ConstantInputWarning, ConstantOutputWarning
from bnn.scaling import BoundsScaler, BoundsWarning, Scaling
from bnn.storage import load
from bnn.storage.version import __version__
from bnn.training.loop import DivergenceError, DivergenceWarning
from bnn.training.settings import Convergence, TrainingSettings

__all__ = [
    # estimators
    "GPRegressor",
    "FunctionAnchoredEnsemble",
    "AnchoredEnsemble",
    "VanillaEnsemble",
    "PCARegressor",
    "PrincipalComponents",
    "load",
    # settings of estimators
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
    *samplers.__all__,
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
    # bases of custom priors and kernels
    "FunctionPrior",
    "Kernel",
    "Stationary",
    # noise
    "noise",
    "HeteroscedasticNoise",
    "StudentNoise",
    # the algorithms as functions, and what they return
    "pretrain",
    "train_anchored",
    "train_function_anchored",
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
    # tools for fitted estimators
    "select_runs",
    "Campaign",
    "sensitivity",
    "Sensitivity",
    "metrics",
    "plots",  # noqa: F405
    "export",
    "interop",
    "paths",
    # warnings and errors
    "BoundsWarning",
    "ConstantInputWarning",
    "ConstantOutputWarning",
    "DivergenceError",
    "DivergenceWarning",
    "HyperpriorWarning",
    "NoiseWarning",
    "NuggetWarning",
    "PriorRangeWarning",
    "__version__",
]


def __getattr__(name: str) -> ModuleType:
    """Import `bnn.plots` on first use, because importing pyplot takes a second."""
    if name == "plots":
        return importlib.import_module("bnn.evaluation.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List only the public names, not everything that this module imports."""
    return sorted(__all__)
