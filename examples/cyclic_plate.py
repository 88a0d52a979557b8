"""Load a plate cyclically, with a strain-path surrogate as material, and compare with FE²."""

import argparse
import ctypes
import subprocess
import tempfile
from functools import partial
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--paths", type=int, default=100, help="simulated random training paths")
parser.add_argument("--members", type=int, default=20, help="members of the surrogate")
parser.add_argument("--steps", type=int, default=5, help="steps to each of the three ends")
parser.add_argument("--no-fe2", action="store_true", help="skip FE2, which takes minutes")
parser.add_argument("--out", type=Path, default=Path("cyclic_plate.png"), help="figure")
options = parser.parse_args()

# Imported after the options are parsed, so that --help is fast.
import matplotlib.pyplot as plt
import numpy as np
import ufl
from dolfinx import fem
from dolfinx.mesh import create_rectangle
from mpi4py import MPI
from scipy.sparse.linalg import spsolve

import bnn
from bnn.paths import MaterialPointBasis, StrainPathEnsemble, fit_scatter
from fe_data import Inputs, MaterialPoint, Settings, load_paths, strain_concentration
from fe_data.geometry import domain
from fe_data.path_following import advance
from fe_data.schema import INPUT_BOUNDS
from safe_files.writing import save_picture

RVE = [0.3, 400.0, 400.0, 0.4]  # vf, E_f [GPa], b_m [MPa], c_m
AMPLITUDE = 0.01  # mean strain of the plate

random_paths = load_paths("random")
repeated = load_paths("repeated_random")
bounds = np.transpose(list(INPUT_BOUNDS.values()))
bank = MaterialPointBasis(partial(strain_concentration, softening=0.1), bounds)
scatter = fit_scatter(bank, repeated.inputs, repeated.strain, repeated.stress)
model = StrainPathEnsemble(bank, scatter, n_members=options.members, random_state=0)
n = options.paths
model.fit(random_paths.inputs[:n], random_paths.strain[:n], random_paths.stress[:n, 0])
with tempfile.TemporaryDirectory() as folder:
    source = Path(folder, "rve.c")
    library = Path(folder, "rve.so")
    bnn.export.path_to_c(model, source, RVE, name="rve")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    rve = ctypes.CDLL(str(library)).rve


class Surrogate:
    """One member of the surrogate at a material point, with the methods of `MaterialPoint`."""

    def __init__(self, member):
        self.member = member
        self.state = np.zeros(4 * bank.n_histories)  # rve_STATE
        self.next = self.state.copy()
        self.path = []

    def respond(self, strain):
        """Return stress and tangent for a strain, starting from the last accepted state."""
        self.strain = strain
        stress = np.empty(3)
        tangent = np.empty((3, 3))
        arrays = (self.state, strain, self.next, stress, tangent)
        refused = rve(self.member, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
        assert not refused
        return stress, tangent

    def accept(self):
        """Accept the state of the last response."""
        self.state[:] = self.next
        self.path.append(self.strain)


# A plate of two squares between rigid grips; two quadratic triangles per square, with three
# integration points each.
mesh = create_rectangle(MPI.COMM_SELF, [[0.0, 0.0], [2.0, 1.0]], [2, 1])
V = domain.space(mesh, "Lagrange", 2, (2,))
u = fem.Function(V)
stresses = fem.Function(domain.quadrature_space(mesh, 3))
tangents = fem.Function(domain.quadrature_space(mesh, 9))
dx = domain.measure(mesh)


def engineering(v):
    """Return the strains xx, yy and engineering shear of a displacement."""
    return ufl.as_vector([v[0].dx(0), v[1].dx(1), v[0].dx(1) + v[1].dx(0)])


v = ufl.TestFunction(V)
D = ufl.as_matrix([[tangents[3 * i + j] for j in range(3)] for i in range(3)])
stiffness = domain.assembler(ufl.inner(D * engineering(ufl.TrialFunction(V)), engineering(v)) * dx)
forces = domain.compiled_form(ufl.inner(stresses, engineering(v)) * dx)
strains = domain.at_points(engineering(u), mesh, 3)
x, y = V.tabulate_dof_coordinates()[:, :2].T
grips = np.isclose(abs(x - 1.0), 1.0)
free = np.repeat(~grips, 2)
right = 2 * np.flatnonzero(np.isclose(x, 2.0))
turns = AMPLITUDE * np.array([0.0, 1.0, -1.0, 1.0])
pulls = np.interp(np.arange(3 * options.steps + 1) / options.steps, range(4), turns)


def equilibrium(points, pull):
    """Return relative residuals of Newton's method and the force on a grip, or None if it fails."""
    move = np.where(free, 0.0, np.column_stack([pull * x, 0.0 * y]).ravel() - u.x.array)
    residuals = []
    for _ in range(12):
        strain = strains()
        if abs(strain).max() > 0.2:
            return None
        answers = [p.respond(e * [1.0, 1.0, 0.5]) for p, e in zip(points, strain, strict=True)]
        domain.assign(stresses, np.array([stress for stress, _ in answers]))
        domain.assign(tangents, np.array([tangent.ravel() for _, tangent in answers]))
        force = fem.petsc.assemble_vector(forces).array
        if not move.any():  # the grips have arrived
            residuals.append(np.linalg.norm(force[free]) / np.linalg.norm(force))
            if residuals[-1] < 1e-6:
                return residuals, force[right].sum()
        # K_ff Δu_f = -f_f - K_fg Δu_g
        K = stiffness()[free]
        move[free] = spsolve(K[:, free], -force[free] - K[:, ~free] @ move[~free])
        u.x.array[:] += move
        move[:] = 0.0
    return None


def cyclic_force(points):
    """Load the plate through all pulls, in smaller steps where Newton's method fails.

    Returns:
        The force on a grip at each pull, the residuals of the last step, and the number of steps up
        to each pull.
    """
    u.x.array[:] = 0.0
    last = []
    reached_in = []

    def attempt(step):
        before = u.x.array.copy()
        reached = equilibrium(points, np.interp(step, range(len(pulls)), pulls))
        if reached is None:
            u.x.array[:] = before
            return np.inf  # a smaller step follows
        for point in points:
            point.accept()
        last[:] = reached
        reached_in.append(step)
        return 0.0

    forces = [0.0]
    numbers = []
    for step in range(1, len(pulls)):
        advance(step - 1, step, attempt, segment=1)
        forces.append(last[1])
        numbers.append(len(reached_in))
    return np.array(forces), last[0], numbers


count = len(strains())
members = []
for member in range(options.members):
    points = [Surrogate(member) for _ in range(count)]
    force, residuals, numbers = cyclic_force(points)
    members.append(force)
print("relative residuals of the last step:", " ".join(f"{r:.0e}" for r in residuals))
mean = np.mean(members, axis=0)
of_members = np.std(members, axis=0, ddof=1)
# Members do not contain the model error δ. The force per height is the mean stress xx over the
# plate. All points have the same RVE and similar paths, so we assume that they have the same δ.
paths = np.array([point.path for point in points])
_, of_points = model.predict(np.tile(RVE, (count, 1)), paths, return_std=True)
with_delta = np.append(0.0, of_points[:, np.array(numbers) - 1, 0].mean(axis=0))
last = f"{mean[-1]:.0f} ± {2 * of_members[-1]:.1f}, with δ ± {2 * with_delta[-1]:.0f}"
print(f"force at the end {last} MPa times the height")
figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
for std, label in ((with_delta, "95 % band with δ"), (of_members, "95 % band of the members")):
    ax.fill_between(100 * pulls, mean - 2 * std, mean + 2 * std, alpha=0.3, lw=0, label=label)
ax.plot(100 * pulls, mean, ".-", label="mean of the members")
if not options.no_fe2:
    settings = Settings(resolution=2.5, tolerance=1e-4)
    points = [MaterialPoint(Inputs(*RVE), settings, seed=seed) for seed in range(count)]
    exact, *_ = cyclic_force(points)
    difference = abs(exact - mean).max() / abs(exact).max()
    print(f"largest difference from FE²: {100 * difference:.1f} % of its largest force")
    ax.plot(100 * pulls, exact, "k--", lw=1, label="FE²")
ax.set(xlabel="mean strain of the plate [%]", ylabel="force on a grip [MPa times the height]")
figure.legend(loc="outside lower center", ncols=2)
ax.grid(lw=0.3)
save_picture(figure, options.out)
