"""Why anchoring helps: comparison with equal choices, and causes of the gain (notebook 04c)."""

from figures.beyond.ablation import panels
from figures.beyond.ablation.alike import judge_draws
from figures.beyond.ablation.ensembles import load_training_draws
from figures.beyond.ablation.reasons import run_draws
from figures.beyond.ablation.tables import claims, tables
