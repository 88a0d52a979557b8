"""Further draws of the tables beside those that come with the package."""

import pytest

from bench import further_draws
from figures.pipeline.paths import SHIPPED_TABLES
from figures.pipeline.profiles import load_profile

SMALL = {"n_members": 3, "n_pretrained": 4, "prior_points": 20, "pretrain_epochs": 2, "epochs": 2}
DESIGNS = ("test_uniform", "train_beta")


def folder_with(path, n_draws, as_generated):
    """A folder with the first cells of the shipped draws, as shipped or as `generate` has them."""
    for design in DESIGNS:
        text = (SHIPPED_TABLES / "draws" / f"{design}.csv").read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        table = path / "draws" / (f"{design}/dataset.csv" if as_generated else f"{design}.csv")
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text("".join(lines[: 1 + 50 * n_draws]), encoding="utf-8")
    return path


@pytest.fixture
def small_profile(monkeypatch):
    full = load_profile("full")
    surrogate = full.surrogate.model_copy(update=SMALL)
    draws = full.draws.model_copy(update={"repeats": 1})
    small = full.model_copy(update={"surrogate": surrogate, "draws": draws})
    monkeypatch.setattr(further_draws, "load_profile", lambda name: {"full": small}[name])
    monkeypatch.setattr("figures.pipeline.processes.cpu_count", lambda: 1)


@pytest.mark.usefixtures("small_profile")
def test_claims_are_judged_over_the_draws_of_all_folders(tmp_path, monkeypatch, capsys):
    shipped = folder_with(tmp_path / "shipped", 2, as_generated=False)
    monkeypatch.setattr(further_draws, "SHIPPED_TABLES", shipped)
    further_draws.main([folder_with(tmp_path / "further", 1, as_generated=True)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("3 draws: ")
    begin = "Fig. 14: b_eff_MPa: the anchored ensemble is better"
    assert any(line.startswith(begin) for line in lines)
    tested = [line for line in lines if line.startswith("Wilcoxon, gain in miscalibration over 3")]
    assert 0.25 <= float(tested[0].split("p = ")[1]) <= 1  # two-sided, of three pairs
    assert any(line.startswith("Table 4, gain of E_eff less that of b_eff: ") for line in lines)
