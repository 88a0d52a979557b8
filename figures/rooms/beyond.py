"""What the notebook 05_beyond_the_paper takes from figures: what works beyond the paper."""

from figures import style
from figures.beyond import panels
from figures.beyond.example_1d import distances, run_example
from figures.beyond.findings import advice, claims, noise_of_replicates
from figures.beyond.methods import run_cases, run_noise, run_spans
from figures.beyond.priors import correlation, relevance, replicate_noise, subset_counts
from figures.beyond.problems import input_files, load_problems, with_moments
from figures.beyond.tables import Results, tables
from figures.materials.problem import FEATURES, LABELS, OUTPUT_NAMES, OUTPUT_SCALING
from figures.pipeline.processes import repeated, seeds_of
from figures.report.labels import label
from figures.report.record import Record, claims_table, shown_table
from figures.scores import over_repeats

__all__ = [
    "FEATURES",
    "LABELS",
    "OUTPUT_NAMES",
    "OUTPUT_SCALING",
    "Record",
    "Results",
    "advice",
    "claims",
    "claims_table",
    "correlation",
    "distances",
    "input_files",
    "label",
    "load_problems",
    "noise_of_replicates",
    "over_repeats",
    "panels",
    "relevance",
    "repeated",
    "replicate_noise",
    "run_cases",
    "run_example",
    "run_noise",
    "run_spans",
    "seeds_of",
    "shown_table",
    "style",
    "subset_counts",
    "tables",
    "with_moments",
]
