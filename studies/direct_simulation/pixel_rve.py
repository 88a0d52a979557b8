"""An RVE on a grid of square pixels, as in voxel codes, for the comparison of elements.

Each pixel is one bilinear square element, with the material at its centre. History variables,
return mapping and load steps are the same as in the solvers of fe_data. studies.direct_simulation
uses this module.
"""

import numpy as np

from fe_data.arrays import Floats
from fe_data.geometry.microstructure import Microstructure
from fe_data.mechanics.bordered_system import BorderedSystem
from fe_data.mechanics.plasticity import j2_law
from fe_data.mechanics.problem import State, upper_pattern
from fe_data.reference.return_mapping import IDENTITY, History, Law, return_map
from fe_data.settings import Inputs, Settings

ELEMENTS = ("squares, mean dilatation", "squares")
_IN_PLANE = [0, 1, 3]


def strain_operators(element: str, h: float) -> Floats:
    """Return the operators from the dofs of a pixel of side h to strains xx, yy, zz, 2 xy.

    They are (q, 4, 8), for q integration points of equal weight and the corners (0, 0), (1, 0),
    (1, 1), (0, 1).
    """
    g = 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3)
    x, y = (axis.ravel() for axis in np.meshgrid(g, g))
    dx = np.array([y - 1, 1 - y, y, -y]).T / h
    dy = np.array([x - 1, -x, x, 1 - x]).T / h
    B = np.zeros((len(dx), 4, 8))
    B[:, 0, ::2] = dx
    B[:, 1, 1::2] = dy
    B[:, 3, ::2] = dy
    B[:, 3, 1::2] = dx
    if element == "squares, mean dilatation":
        dilatation = B[:, :3].sum(axis=1)
        # B ← B + I (mean dilatation - dilatation) / 3, zz included
        B += IDENTITY[:, None] * ((dilatation.mean(axis=0) - dilatation) / 3)[:, None]
    return B


class PixelRVE:
    """The equations of a periodic grid of n × n pixels, for `load_stepping.IncrementalRVE`."""

    def __init__(self, n: int, m: Microstructure, inputs: Inputs, settings: Settings, element: str):
        h = 1.0 / n
        i, j = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
        gap = (np.column_stack([i, j]) + 0.5)[:, None] * h - m.centres
        gap -= np.round(gap)
        self.in_matrix = (np.hypot(*gap.transpose(2, 0, 1)) > m.radii).all(axis=1)
        corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        nodes = np.column_stack([(a % n) * n + b % n for a, b in corners])
        self.dofs = (2 * nodes[:, :, None] + [0, 1]).reshape(-1, 8).astype(np.int32)
        self.B = strain_operators(element, h)
        self.weight = h * h / len(self.B)
        self.matrix = self  # the load stepping reads the shape of `matrix.weights`
        self.weights = np.full((n * n, len(self.B)), self.weight)
        E = 1e3 * np.where(self.in_matrix, settings.E_m_GPa, inputs.E_f_GPa)[:, None]
        nu = np.where(self.in_matrix, settings.nu_m, settings.nu_f)[:, None]
        self.mu = E / (2 * (1 + nu))
        self.kappa = E / (3 * (1 - 2 * nu))
        parameters = settings.sigma_y0_MPa, inputs.b_m_MPa, inputs.c_m
        self.reference_law = Law(*parameters, settings.hardening)
        mu = float(self.mu[self.in_matrix][0, 0])
        self.law = j2_law(mu, 0.0, *parameters)
        self.n = 2 * n * n
        indptr, indices, (self.slots,) = upper_pattern([self.dofs], n * n)
        grid = np.column_stack([np.repeat(np.arange(n), n), np.tile(np.arange(n), n)]) * h
        self.system = BorderedSystem(indptr, indices, grid)
        self.spring = indptr[[0, 1]]
        unit = np.bincount(self.dofs.ravel(), np.full(self.dofs.size, h / 2), self.n)
        self.force_scale = float(np.linalg.norm(unit))

    def internal_force(self, x: Floats, state: State) -> tuple[Floats, Floats]:
        """Return the force on each unknown, and the integrals for `volume_averages`."""
        macro_strain = np.zeros(4)
        macro_strain[_IN_PLANE] = x[self.n :]
        strain = np.einsum("qik,mk->mqi", self.B, x[self.dofs]) + macro_strain
        xx, yy, xy = np.moveaxis(state.old.plastic_strain, -1, 0)
        old = History(np.stack([xx, yy, -xx - yy, xy], axis=-1), state.old.p)
        stress, tangent, new = return_map(
            strain, old, self.mu, self.in_matrix[:, None], self.reference_law
        )
        # σ = s + κ θ I
        stress += (self.kappa * strain[..., :3].sum(axis=-1))[..., None] * IDENTITY
        tangent += self.kappa[..., None, None] * np.outer(IDENTITY, IDENTITY)
        self.tangent = tangent
        state.new.plastic_strain[:] = new.plastic_strain[..., _IN_PLANE]
        state.new.p[:] = new.p
        out = np.empty(self.n + 3)
        force = self.weight * np.einsum("qik,mqi->mk", self.B, stress)
        out[: self.n] = np.bincount(self.dofs.ravel(), force.ravel(), self.n)
        mean = self.weight * stress.sum(axis=(0, 1))
        out[self.n :] = mean[_IN_PLANE]
        plastic = self.weight * new.plastic_strain.sum(axis=(0, 1))
        yielded = self.weight * np.count_nonzero(new.p > 0)
        return out, np.concatenate([mean, plastic, [yielded], np.zeros(2)])

    def assemble_tangent(self, _: State) -> None:
        """Assemble the consistent tangent of the last evaluation."""
        D = self.weight * self.tangent
        # K += Σ w Bᵀ D B,   B_E += Σ w Bᵀ D,   C += Σ w D
        DB = np.einsum("mqij,qjk->mqik", D, self.B, optimize=True)
        K = np.einsum("qil,mqik->mlk", self.B, DB, optimize=True)
        rows, columns = np.triu_indices(8)
        upper = K[:, rows, columns].ravel()
        system = self.system.tangent
        system.values[:] = np.bincount(self.slots.ravel(), upper, len(system.values))
        system.values[self.spring] += 2 * self.law.shear_modulus
        for column, i in enumerate(_IN_PLANE):
            border = DB[:, :, i].sum(axis=1)
            system.border[:, column] = np.bincount(self.dofs.ravel(), border.ravel(), self.n)
        system.macro[:] = D.sum(axis=(0, 1))[np.ix_(_IN_PLANE, _IN_PLANE)]

    def volume_averages(self, x: Floats, integrals: Floats) -> dict[str, Floats]:
        """Return the volume averages of one increment; tensors have xx, yy, zz, xy."""
        exx, eyy, gxy = x[self.n :]
        return {
            "strain": np.array([exx, eyy, 0.0, gxy / 2]),
            "stress": integrals[:4],
            "plastic_strain": integrals[4:8],
            "yielded_fraction": integrals[8],
        }
