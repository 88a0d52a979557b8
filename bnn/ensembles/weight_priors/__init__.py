"""Priors p0(ω) over the weights, learnt from pre-trained networks.

WEIGHT_PRIORS maps the names for `Anchoring.regulariser` to classes.
"""

from bnn.ensembles.weight_priors.density import WeightPrior
from bnn.ensembles.weight_priors.gaussian import (
    FactorisedGaussian,
    IsotropicGaussian,
    ProperGaussian,
)
from bnn.ensembles.weight_priors.generalised_normal import FactorisedGeneralisedNormal
from bnn.ensembles.weight_priors.low_rank import LowRankGaussian
from bnn.ensembles.weight_priors.probabilistic_pca import ProbabilisticPCA

WEIGHT_PRIORS: dict[str, type[WeightPrior]] = {
    "low_rank": LowRankGaussian,
    "probabilistic_pca": ProbabilisticPCA,
    "factorised": FactorisedGaussian,
    "generalised_normal": FactorisedGeneralisedNormal,
    "isotropic": IsotropicGaussian,
}

__all__ = [
    "WEIGHT_PRIORS",
    "FactorisedGaussian",
    "FactorisedGeneralisedNormal",
    "IsotropicGaussian",
    "LowRankGaussian",
    "ProbabilisticPCA",
    "ProperGaussian",
    "WeightPrior",
]
