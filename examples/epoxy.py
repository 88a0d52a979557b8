"""Load glass/epoxy and its pure resin in tension, compression and shear across the fibres."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--fibres", type=int, default=12, help="number of fibres")
parser.add_argument("--out", type=Path, default=Path("epoxy.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np

from fe_data import Loading, Microstructure, Phases, named_phases, solve_composite
from fe_data.geometry.microstructure import random_microstructure
from safe_files.writing import save_picture

glass = named_phases("glass_epoxy")
resin = Phases(matrix=glass.matrix, fibres=glass.matrix)  # the resin alone
fibres = random_microstructure(0.4, 1, options.fibres)
one = Microstructure([[0.5, 0.5]], 0.3)
# Final mean strain xx, yy, xy (None is free), and the column of the stress to plot
loadings = {
    "tension": ((0.03, None, None), 0),
    "compression": ((-0.03, None, None), 0),
    "shear": ((None, None, 0.015), 3),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
materials = {"glass/epoxy, $v_f$ = 0.4": (glass, fibres), "pure resin": (resin, one)}
for ax, (title, composite) in zip(axes, materials.items(), strict=True):
    for name, (strain, column) in loadings.items():
        loading = Loading(strain, increments=24)
        rve = solve_composite(*composite, loading, resolution=None if composite[0] is glass else 3)
        # Engineering shear strain is twice the component xy.
        x = np.abs(rve.history["strain"][:, column]) * (2 if column == 3 else 1)
        y = np.abs(rve.history["stress"][:, column])
        ax.plot(100 * x, y, label=name)
        print(f"{title.replace('$', '')}, {name}: {y[-1]:.1f} MPa at {100 * x[-1]:.0f} %")
    ax.set(xlabel="mean strain [%] (shear: engineering strain)", title=title)
    ax.legend(frameon=False)
axes[0].set_ylabel("mean stress, absolute [MPa]")
save_picture(figure, options.out)
