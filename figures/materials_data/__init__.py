"""Data of the composite (notebook 03, section 3.2 of the paper): numbers and figures."""

from figures.materials_data import panels
from figures.materials_data.data import (
    SETS,
    claims,
    information_over_draws,
    information_table,
    noise_by_input,
    noise_table,
    scatter_table,
    share_outside,
)
