"""A periodic cell of voxels by FFT in torch: python -m bench.fft_cell compares it with the FE code.

Voxels are trilinear elements with one integration point, which is Willot's rotated scheme
(C. R. Mécanique 343, 2015). Newton's method with the consistent tangent of J2 plasticity solves for
displacements and free mean strains; conjugate gradients solve its linear systems (Zeman, de Geus,
Vondřejc, Peerlings & Geers, IJNME 111, 2017), preconditioned by a homogeneous cell, which the FFT
makes diagonal: the number of their iterations hardly grows with that of the voxels.

Fields are (components, N, N, M), on cubes of side 1/N; symmetric tensors are xx, yy, zz, √2 yz,
√2 xz, √2 xy, whose scalar products are those of vectors. Unknowns x are the periodic displacement
of the nodes, flattened, and the mean strain (6,), of which yy and xy are free.
"""

import argparse
from pathlib import Path

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grids", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--cubes", type=int, nargs="*", default=[], help="two increments")
    parser.add_argument("--device", default="cpu", help="cuda takes a GPU")
    parser.add_argument("--out", type=Path, help="picture of the curves and differences")
    options = parser.parse_args()

# After the options: --help does not wait for these.
import math
import resource
import time
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from fe_data.errors import ConvergenceError
from fe_data.geometry.microstructure import Microstructure, random_microstructure
from fe_data.mechanics.properties import equivalent_strain, fit_power_law, moduli, von_mises
from fe_data.mechanics.rve import solve_rve
from fe_data.settings import Inputs, Settings
from figures.style import STYLE, WIDTH, save

INPUTS, SEED = Inputs(0.23, 400.0, 400.0, 0.4), 3
SETTINGS = Settings(n_fibres=6, increments=20, resolution=17.0)  # four times the default for FE
_FREE = torch.tensor([0, 1, 0, 0, 0, 1], dtype=torch.float64)
_AXES, _NEWTON_ITERATIONS, _ROOT = (1, 2, 3), 30, math.sqrt(0.5)
State = tuple[Tensor, Tensor]  # plastic strain (6, N, N, M) and p (N, N, M)


class Cell:
    """Equilibrium of a grid of voxels, of which `fibre` (N, N, M) are elastic."""

    def __init__(self, fibre: Tensor, inputs: Inputs, settings: Settings):
        if settings.hardening != "power" or inputs.b_m_MPa == 0:
            law = f"hardening = {settings.hardening!r}, b_m_MPa = {inputs.b_m_MPa:g}"
            raise ValueError(f"{law}: the matrix must harden by a power law")
        self.shape, self.n, self.free = (3, *fibre.shape), fibre.numel(), _FREE.to(fibre.device)
        self.b, self.c, self.settings = inputs.b_m_MPa, inputs.c_m, settings
        matrix = *moduli(1e3 * settings.E_m_GPa, settings.nu_m), settings.a_MPa
        inside = *moduli(1e3 * inputs.E_f_GPa, settings.nu_f), math.inf
        pairs = self.free.new_tensor([inside, matrix]).T
        self.mu, self.kappa, self.a = (torch.where(fibre, *pair) for pair in pairs)
        self.reference = float(self.mu.mean()), float(self.kappa.mean())  # the homogeneous cell
        pulse = self.free.new_zeros((1, *fibre.shape))
        pulse[0, 0, 0, 0] = fibre.shape[0]
        k = torch.cat([torch.fft.rfftn(_derivative(pulse, i, -1), dim=_AXES) for i in _AXES])
        norm = k.norm(dim=0)
        strained = norm > 1e-9  # not the mean, and no alternation that leaves voxels unstrained
        self.k = k / torch.where(strained, norm, 1.0)
        self.compliance = torch.where(strained, self.n / norm**2, 0.0)

    def strain(self, x: Tensor) -> Tensor:
        """The strain of every voxel (6, N, N, M)."""
        u = x[:-6].view(self.shape) * self.shape[1]
        u_x, u_y, u_z = (_derivative(u, i, -1) for i in _AXES)
        shears = u_z[1] + u_y[2], u_z[0] + u_x[2], u_y[0] + u_x[1]
        strain = torch.stack([u_x[0], u_y[1], u_z[2], *(_ROOT * shear for shear in shears)])
        return strain + x[-6:].view(6, 1, 1, 1)

    def force(self, stress: Tensor) -> Tensor:
        """Forces that do work on the unknowns: `strain` transposed, over the number of voxels."""
        xx, yy, zz = stress[:3] * (self.shape[1] / self.n)
        yz, xz, xy = stress[3:] * (_ROOT * self.shape[1] / self.n)
        rows = (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)
        f = sum(_derivative(torch.stack(row), i, 1) for i, row in zip(_AXES, rows, strict=True))
        return torch.cat([f.ravel(), self.free * stress.mean(_AXES)])

    def precondition(self, force: Tensor) -> Tensor:
        """Unknowns of the homogeneous elastic cell under these forces, by its Green operator."""
        mu, kappa = self.reference
        normal = kappa + 4 * mu / 3
        f = torch.fft.rfftn(force[:-6].view(self.shape), dim=_AXES)
        f -= self.k.conj() * ((1 - mu / normal) * (self.k * f).sum(0))
        u = torch.fft.irfftn(f * self.compliance / mu, s=self.shape[1:], dim=_AXES)
        return torch.cat([u.ravel(), force[-6:] / force.new_tensor(3 * [normal] + 3 * [2 * mu])])

    def isotropic(self, strain: Tensor, g: Tensor) -> Tensor:
        """The stress of a strain, g times its deviator and the pressure."""
        stress = g * strain
        stress[:3] += (self.kappa - g / 3) * strain[:3].sum(0)
        return stress

    def return_map(self, strain: Tensor, old: State) -> tuple[Tensor, Callable, State]:
        """Stress, the product of the consistent tangent with a strain, and the new state."""
        plastic, p = (part.clone() for part in old)
        root, elastic = math.sqrt(1.5), strain - plastic
        s = 2 * self.mu * elastic
        s[:3] -= s[:3].mean(0)
        q, g, d = root * s.norm(dim=0), 2 * self.mu, torch.zeros_like(s)
        at = q > self.a + self.b * p**self.c
        stiff, q = 3 * self.mu[at], q[at]
        h = hardening(q - self.a[at], p[at], stiff, self.b, self.c)
        dp, p[at] = (q - self.a[at] - h) / stiff, (h / self.b) ** (1 / self.c)
        flow, slope = s[:, at] * (root / q), self.c * h / p[at]
        plastic[:, at] += root * dp * flow
        g[at] *= 1 - stiff * dp / q
        softer = stiff / (stiff + slope) - stiff * dp / q
        d[:, at] = (2 / 3 * stiff * softer).clamp(min=0).sqrt() * flow
        # The tangent is g P + κ I ⊗ I - d ⊗ d, with the deviatoric projection P.
        tangent = lambda e: self.isotropic(e, g) - d * (d * e).sum(0)  # noqa: E731
        return self.isotropic(elastic, g), tangent, (plastic, p)


def hardening(over: Tensor, p: Tensor, stiff: Tensor, b: float, c: float) -> Tensor:
    """The root h of h + 3 mu dp = over, where h = b (p + dp)^c and 3 mu is `stiff` [MPa]."""
    # The left side is convex in h: Newton's method comes down to the root from above, where either
    # h or dp takes all that is over.
    h = torch.minimum(over, b * (p + (over - b * p**c) / stiff) ** c)
    for _ in range(60):
        total = (h / b) ** (1 / c)
        step = (h + stiff * (total - p) - over) / (1 + stiff * total / (c * h))
        h = h - step
        if not (step.abs() > 1e-14 * over).any():
            break
    return h


def _derivative(u: Tensor, axis: int, shift: int) -> Tensor:
    """Differences along an axis, averaged along both others (shift -1), or the transpose (1)."""
    for other in _AXES:
        u = u.roll(shift, other) - u if other == axis else (u.roll(shift, other) + u) / 2
    return u


def conjugate_gradients(cell: Cell, tangent: Callable, r: Tensor, accuracy: float) -> Tensor:
    """Unknowns under the forces r, to an accuracy in the norm of the preconditioner."""
    x, p = torch.zeros_like(r), cell.precondition(r)
    rz = first = float(r @ p)
    while rz > accuracy**2 * first:
        q = cell.force(tangent(cell.strain(p)))
        length = rz / float(p @ q)
        x, r = x + length * p, r - length * q
        z = cell.precondition(r)
        rz, before = float(r @ z), rz
        p = z + rz / before * p
    return x


def equilibrium(cell: Cell, x: Tensor, old: State) -> tuple[Tensor, Tensor, State]:
    """Newton's method from x: the unknowns, mean stress, and state."""
    for _ in range(_NEWTON_ITERATIONS):
        stress, tangent, new = cell.return_map(cell.strain(x), old)
        mean, force = stress.mean(_AXES), -cell.force(stress)
        energy = 2 * cell.reference[0] * float(force @ cell.precondition(force))
        error = math.sqrt(energy) / float(mean.norm())
        if error <= cell.settings.tolerance:
            return x, mean, new
        accuracy = min(0.1, max(1e-3, 0.3 * cell.settings.tolerance / error))
        x = x + conjugate_gradients(cell, tangent, force, accuracy)
    raise ConvergenceError(f"Newton's method does not converge at a mean strain of {x[-6]:.5f}")


def solve(cell: Cell, steps: int) -> dict[str, np.ndarray]:
    """Volume averages at the first increments of the settings, named as those of the FE code."""
    x = last = cell.free.new_zeros(3 * cell.n + 6)
    state, rows = (cell.mu.new_zeros((6, *cell.mu.shape)), torch.zeros_like(cell.mu)), []
    for increment in range(1, steps + 1):
        x, last = 2 * x - last, x
        x[-6] = cell.settings.strain * increment / cell.settings.increments
        x, stress, state = equilibrium(cell, x, state)
        rows.append(torch.stack([x[-6:], stress, state[0].mean(_AXES)]).cpu().numpy())
    table = np.array([0 * rows[0], *rows])[..., [0, 1, 2, 5]] * [1, 1, 1, _ROOT]
    return dict(zip(("strain", "stress", "plastic_strain"), table.swapaxes(0, 1), strict=True))


def voxels(microstructure: Microstructure, n: int, depth: int = 1) -> Tensor:
    """Which of (n, n, depth) are fibre: for each, those nearest its centre that make its area."""
    fibre, xy = np.zeros(n * n, dtype=bool), (np.indices((n, n)).reshape(2, -1).T + 0.5) / n
    for centre, radius in zip(microstructure.centres, microstructure.radii, strict=True):
        distance = np.linalg.norm((xy - centre + 0.5) % 1 - 0.5, axis=1)
        fibre[np.argsort(distance, kind="stable")[: round(math.pi * (radius * n) ** 2)]] = True
    return torch.from_numpy(fibre).view(n, n, 1).expand(-1, -1, depth)


def curve(history: dict[str, np.ndarray]) -> np.ndarray:
    """Equivalent plastic strain and von Mises stress of the averages after every increment."""
    plastic, stress = history["plastic_strain"][1:], history["stress"][1:]
    return np.array([equivalent_strain(plastic), von_mises(stress)])


@plt.style.context(STYLE)
def draw(curves: dict[str, np.ndarray], errors: dict[int, np.ndarray], path: Path) -> None:
    """Averaged curves, and by how much b and c of each grid differ from those by FE."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(0.8 * WIDTH, 0.3 * WIDTH))
    for label, (p, mises) in curves.items():
        left.plot(100 * p, mises, "-" if left.lines else "k--", label=label)
    left.set(xlabel="equivalent plastic strain [%]", ylabel="von Mises stress [MPa]")
    for name, values in zip("bc", np.abs([*errors.values()]).T, strict=True):
        right.loglog([*errors], 100 * values, "o-", label=f"${name}$")
    right.set(xlabel="voxels along a side", ylabel="difference from finite elements [%]")
    right.set_xticks([*errors], map(str, errors))
    right.minorticks_off()
    left.legend()
    right.legend()
    save(figure, path)


def main(given: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    micro = random_microstructure(INPUTS.vf, SEED, SETTINGS.n_fibres)
    by_fe = curve(solve_rve(INPUTS, micro, SETTINGS).history)
    exact = np.array(fit_power_law(*by_fe[::-1], SETTINGS.a_MPa)[:2])
    print(f"finite elements: b = {exact[0]:.2f} MPa, c = {exact[1]:.4f}")
    print("| voxels | s per increment | memory [GB] | last stress [%] | b [%] | c [%] |")
    curves, errors = {"finite elements": by_fe}, {}
    for n, depth in [(n, 1) for n in given.grids] + [(n, n) for n in given.cubes]:
        steps, start = SETTINGS.increments if depth == 1 else 2, time.process_time()
        found = curve(
            solve(Cell(voxels(micro, n, depth).to(given.device), INPUTS, SETTINGS), steps)
        )
        seconds = (time.process_time() - start) / steps
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        row = [found[1, -1] / by_fe[1, steps - 1] - 1]
        if depth == 1:
            errors[n] = np.array(fit_power_law(*found[::-1], SETTINGS.a_MPa)[:2]) / exact - 1
            curves[f"{n} × {n} voxels"], row = found, [*row, *errors[n]]
        differences = " | ".join(f"{100 * difference:+.2f}" for difference in row)
        print(f"| {n} × {n} × {depth} | {seconds:.2f} | {memory:.2f} | {differences} |", flush=True)
    if given.out:
        draw(curves, errors, given.out)


if __name__ == "__main__":
    main(options)
