"""Posterior around a mean-field model for the stress on strain paths, for notebook 08."""

from studies.strain_paths import panels
from studies.strain_paths.findings import claims, leaving, shares, tables
from studies.strain_paths.study import (
    BOUNDS,
    FILES,
    LABELS,
    compare,
    load_study,
    one,
    spread_of_theta,
    typical,
)
