"""Cool carbon/epoxy after curing, then load it across the fibres with its residual stress."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--fibres", type=int, default=12, help="number of fibres")
parser.add_argument("--drop", type=float, default=100.0, help="drop of temperature [K]")
parser.add_argument("--out", type=Path, default=Path("cooling.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection

from fe_data import Loading, named_phases, solve_composite
from fe_data.geometry.microstructure import random_microstructure
from safe_files.writing import save_picture

phases = named_phases("carbon_epoxy")
fibres = random_microstructure(0.5, 2, options.fibres)
free = (None,) * 6  # mean strains xx, yy, zz, xy, xz, yz
pull = (0.005, None, None, None, None, None)
cold = -options.drop
paths = {
    "cooled before": Loading([free, pull], increments=[5, 10], temperature=[cold, cold]),
    "not cooled": Loading(pull, increments=10),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for name, loading in paths.items():
    rve = solve_composite(phases, fibres, loading, keep_steps=True)
    start = 5 if name == "cooled before" else 0  # after cooling
    strain = 100 * (rve.history["strain"][start:, 0] - rve.history["strain"][start, 0])
    stress = rve.history["stress"][start:, 0]
    right.plot(strain, stress, label=name)
    print(f"{name}: {np.interp(0.5, strain, stress):.1f} MPa at a strain of 0.5 %")
    if start:
        mesh = rve.model.domain
        for material, phase in rve.fields(start).items():
            mean = phase.stress[..., :3].mean(axis=(1, 2))  # a third of the trace
            corners = mesh.points[mesh.triangles[phase.elements][:, :3]]
            drawn = PolyCollection(corners, array=mean, cmap="RdBu_r", edgecolors="face", lw=0.2)
            drawn.set_clim(-25, 25)
            left.add_collection(drawn)
            average = (mean * phase.weights.sum(axis=1)).sum() / phase.weights.sum()
            print(f"after cooling, mean stress in the {material}: {average:.1f} MPa")
        figure.colorbar(drawn, ax=left, label="mean stress [MPa]", extend="both")
left.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
left.set_title(f"Residual stress after cooling by {options.drop:g} K")
right.set(xlabel="strain across the fibres after cooling [%]", ylabel="stress [MPa]")
right.set_xlim(0.0, 100 * pull[0])
right.set_title("Loaded across the fibres")
right.legend(frameon=False)
save_picture(figure, options.out)
