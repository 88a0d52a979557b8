"""Load an RVE cyclically; plot the hysteresis and write the fields for ParaView."""

import argparse
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--strain", type=float, default=0.01, help="amplitude")
parser.add_argument("--cycles", type=int, default=2)
parser.add_argument("--fibres", type=int, default=30, help="fibres of the RVE")
parser.add_argument(
    "--out", type=Path, default=Path("cyclic.png"), help="figure; the fields go next to it"
)
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt

import fe_data
from fe_data.mechanics.plots import draw_mises
from safe_files.writing import save_picture

tension = (options.strain, None, None)  # xx; the lateral strain and the shear are free
compression = (-options.strain, None, None)
path = fe_data.Loading(strain=[tension, compression] * options.cycles, increments=20)
inputs = fe_data.Inputs(vf=0.3, E_f_GPa=400.0, b_m_MPa=400.0, c_m=0.4)
settings = fe_data.Settings(n_fibres=options.fibres)
rve = fe_data.solve_rve(inputs, settings, path, seed=1, keep_steps=True)
strain = 100 * rve.history["strain"][:, 0]
stress = rve.history["stress"][:, 0]
print(f"stress between {stress.min():.0f} and {stress.max():.0f} MPa")
fields = options.out.with_suffix(".xdmf")
fe_data.save_fields(rve, fields)
print(f"fields of {len(rve.steps)} load steps: {fields.name}, which ParaView opens")

figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
panels[0].plot(strain, stress)
panels[0].set(xlabel="mean strain xx [%]", ylabel="mean stress xx [MPa]")
panels[0].grid(lw=0.3)
draw_mises(panels[1], rve)
save_picture(figure, options.out)
