"""Training on independently simulated datasets (notebook 04b): numbers and figures."""

from figures.repeated_datasets import panels
from figures.repeated_datasets.draws import gains, over_draws, scatter, table_of_gains, train_draws
