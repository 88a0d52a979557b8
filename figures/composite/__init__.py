"""The composite of the paper: problem, datasets, priors, reference data and scores."""

from figures.composite.draws import load_draws, path_of_draws
from figures.composite.priors import mean_fields
from figures.composite.problem import (
    EFFECTIVE,
    FEATURES,
    INPUT_LABELS,
    INPUT_SCALING,
    LABELS,
    NOISE_COV,
    OUTPUT_BOUNDS,
    OUTPUT_NAMES,
    OUTPUT_SCALING,
    columns,
    fit_theta,
    load_cases,
    load_designs,
    load_paper_table,
    load_samples,
    published_tables,
    scaled,
)
from figures.composite.reference import REFERENCE, load_reference
