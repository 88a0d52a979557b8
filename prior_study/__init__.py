"""How functional priors look in the space of the weights, and back (section 2.2 of the paper)."""

from prior_study.config import StudyConfig
from prior_study.priors import STUDY_PRIORS, StudyPrior
from prior_study.reconstruction import Distance, Moments, distance
from prior_study.study import PriorResult, Study, load, run, save

__all__ = [
    "STUDY_PRIORS",
    "Distance",
    "Moments",
    "PriorResult",
    "Study",
    "StudyConfig",
    "StudyPrior",
    "distance",
    "load",
    "run",
    "save",
]
