"""Other methods on the problems of the paper (notebook 05): scores, findings and figures."""

from studies.other_methods import panels
from studies.other_methods.example_1d import distances, run_example
from studies.other_methods.findings import advice, claims, noise_of_replicates
from studies.other_methods.methods import run_cases, run_noise, run_spans
from studies.other_methods.priors import (
    correlation,
    relevance,
    replicate_noise,
    subset_counts,
)
from studies.other_methods.problems import input_files, load_problems, with_moments
from studies.other_methods.tables import Results, tables
