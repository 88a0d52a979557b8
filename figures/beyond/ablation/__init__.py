"""Why anchoring helps: both ensembles tuned alike, and what the gain rests on."""

from figures.beyond.ablation import panels
from figures.beyond.ablation.alike import judge_draws
from figures.beyond.ablation.ensembles import load_training_draws
from figures.beyond.ablation.reasons import run_draws
from figures.beyond.ablation.tables import claims, tables
