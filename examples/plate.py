"""Load a plate with random volume fraction; an ensemble as C code gives its stiffness."""

import argparse
import ctypes
import subprocess
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rves", type=int, default=8, help="number of training RVEs")
parser.add_argument("--members", type=int, default=30, help="networks")
parser.add_argument("--out", type=Path, default=Path("plate.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import ufl
from dolfinx import fem
from dolfinx.mesh import create_rectangle
from mpi4py import MPI
from scipy.sparse.linalg import spsolve

import bnn
import fe_data
from bnn.noise import replicate_covariance
from fe_data.geometry import domain
from safe_files.writing import save_picture

INPUTS = ["vf", "E_f_GPa"]
OUTPUTS = ["E_eff_GPa", "nu_eff"]
rves, repeats = (pd.read_csv(fe_data.shipped_table(n)) for n in ("train_uniform", "noise"))
X, y = (rves[names][: options.rves].to_numpy() for names in (INPUTS, OUTPUTS))
noise = np.sqrt(np.diag(replicate_covariance(repeats[OUTPUTS], repeats["group"])))
prior = bnn.evidence.fit_prior(X, y, noise, estimate="map", mean_features=())
K = options.members
rng = np.random.default_rng(0)
model = bnn.FunctionAnchoredEnsemble(
    prior,
    noise=noise,
    n_members=K,
    network=bnn.Architecture((10, 10), "silu"),
    pretraining=bnn.Pretraining(K, training=bnn.TrainingSettings(epochs=500)),
    anchoring=bnn.FunctionAnchoring(n_points=60),
    random_state=0,
)
model.pretrain(rng.uniform((0.1, 200.0), (0.4, 600.0), (60, 2))).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    source = Path(folder, "rve.c")
    library = Path(folder, "rve.so")
    bnn.export.to_c(model, source, name="rve")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    rve = ctypes.CDLL(str(library))
rve.rve_init()

# One plate per network. `material` has the values at the integration points, (K, n, 2).
mesh = create_rectangle(MPI.COMM_SELF, [[0.0, 0.0], [2.0, 1.0]], [40, 20])
V = domain.space(mesh, "Lagrange", 2, (2,))
Q = domain.quadrature_space(mesh, 2)
points = domain.at_points(ufl.SpatialCoordinate(mesh), mesh, 2)()
waves = rng.normal(0.0, 4.0, (200, 2))
phases = rng.uniform(0.0, 2.0 * np.pi, 200)
vf = 0.25 + 0.12 * np.tanh(np.cos(points @ waves.T + phases).sum(axis=1) / 10.0)
inputs = np.column_stack([vf, np.full_like(vf, 400.0)])
material = np.empty((K, len(vf), 2))
rve.rve_members(len(vf), *(a.ctypes.data_as(ctypes.c_void_p) for a in (inputs, material)))

# Plane strain, stretched by 0.1 % between frictionless grips.
properties = fem.Function(Q)
u = ufl.TrialFunction(V)
v = ufl.TestFunction(V)
E = properties[0]
nu = properties[1]
strain = ufl.sym(ufl.grad(u))
stress = E / (1 + nu) * (strain + nu / (1 - 2 * nu) * ufl.tr(strain) * ufl.Identity(2))
stiffness = domain.assembler(ufl.inner(stress, ufl.sym(ufl.grad(v))) * domain.measure(mesh))
x, y = V.tabulate_dof_coordinates()[:, :2].T
grips = np.isclose(abs(x - 1.0), 1.0)
free = np.column_stack([~grips, ~np.isclose(x + y, 0.0)]).ravel()
edge = np.flatnonzero(np.isclose(y, 1.0))
edge = edge[x[edge].argsort()]
lifts = []
moduli = []
for values in material:
    domain.assign(properties, values)
    A = stiffness()
    moved = np.column_stack([0.001 * x * grips, 0.0 * y]).ravel()
    moved[free] = spsolve(A[free][:, free], -A[free] @ moved)
    lifts.append(1e3 * moved[2 * edge + 1])
    moduli.append(
        moved @ A @ moved / 0.001**2 / 2.0
    )  # twice the energy over the energy for E = 1 GPa
print(f"modulus of the plate {np.mean(moduli):.1f} ± {2 * np.std(moduli, ddof=1):.1f} GPa")

figure, axes = plt.subplots(1, 3, figsize=(13, 3), layout="constrained")
fields = {
    "volume fraction": vf,
    "E_eff, standard deviation [GPa]": material[:, :, 0].std(0, ddof=1),
}
for ax, (title, values) in zip(axes, fields.items(), strict=False):
    figure.colorbar(ax.tripcolor(*points.T, values), location="bottom")
    ax.set(title=title, aspect="equal")
mean = np.mean(lifts, axis=0)
std = np.std(lifts, axis=0, ddof=1)
axes[2].fill_between(x[edge], mean - 2.0 * std, mean + 2.0 * std, alpha=0.4)
axes[2].plot(x[edge], mean)
axes[2].set(title="the top edge moves down", xlabel="x / height", ylabel="1000 × lift / height")
save_picture(figure, options.out)
