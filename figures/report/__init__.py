"""Pages of runs, and the generated tables of the documentation."""

from figures.report.labels import label
from figures.report.record import Record, claims_table, shown_table
