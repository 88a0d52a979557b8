"""How functional priors look in the space of the weights, and back (section 2.2 of the paper)."""

from prior_study.config import StudyConfig
from prior_study.priors import STUDY_PRIORS
from prior_study.reconstruction import Moments, distance
from prior_study.study import Study, load, run, save

__all__ = ["STUDY_PRIORS", "Moments", "Study", "StudyConfig", "distance", "load", "run", "save"]
