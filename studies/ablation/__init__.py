"""Why anchoring helps: comparison with equal choices, and causes of the gain (notebook 04c)."""

from studies.ablation import panels
from studies.ablation.alike import judge_draws
from studies.ablation.ensembles import load_training_draws
from studies.ablation.reasons import run_draws
from studies.ablation.tables import claims, tables
