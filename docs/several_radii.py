"""Draw docs/several_radii.png, RVEs with fibres of several radii: python -m docs.several_radii."""

from pathlib import Path

import matplotlib.pyplot as plt

from fe_data import Inputs, Settings, solve_rve
from fe_data.mechanics.plots import draw_mises

if __name__ == "__main__":
    laws = [("equal", 0.0), ("uniform", 0.3), ("lognormal", 0.5)]
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
    for ax, (law, cov) in zip(axes, laws, strict=True):
        rve = solve_rve(Inputs(0.3, 400.0, 400.0, 0.4), 5, Settings(radii=law, radii_cov=cov))
        draw_mises(ax, rve)
        ax.set_title(f"{law} radii, C = {cov:g}: $p_\\sigma$ = {rve.p_sigma:.2f}")
    figure.savefig(Path(__file__).with_name("several_radii.png"), dpi=70)
