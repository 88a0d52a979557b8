"""What a posterior about mean fields says of the stress on any path of strain, in notebook 08."""

from figures.beyond.strain_paths import panels
from figures.beyond.strain_paths.findings import claims, leaving, shares, tables
from figures.beyond.strain_paths.study import (
    BOUNDS,
    FILES,
    LABELS,
    compare,
    load_study,
    one,
    spread_of_theta,
    typical,
)
