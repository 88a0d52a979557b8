from .config import StudyConfig as StudyConfig
from .priors import STUDY_PRIORS as STUDY_PRIORS
from .reconstruction import Moments as Moments
from .reconstruction import distance as distance
from .study import Study as Study
from .study import load as load
from .study import run as run
from .study import save as save
