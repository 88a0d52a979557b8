"""The page of a run, and the tables of README and guide."""

from figures.report.labels import label
from figures.report.record import Record, claims_table, shown_table
