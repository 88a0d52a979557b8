"""Effective properties without a mesh: secant homogenisation of aligned cylinders in plane strain.

The matrix is replaced by a linear material with the secant shear modulus at the root mean square of
its equivalent strain (modified secant method: P. Suquet, C. R. Acad. Sci. Paris 320 (1995) 563;
P. Ponte Castañeda & P. Suquet, Adv. Appl. Mech. 34 (1998) 171). With a uniform strain the whole
matrix would yield at once. The strain is therefore assumed to be lognormal with this root mean
square, and the secant modulus follows from the mean energy. The standard deviation of the logarithm
is a multiple of √v_f, as for fluctuations around few fibres.

The linear composite follows Hashin and Shtrikman with a reference medium between two limits: the
matrix (lower bound for stiff fibres: Z. Hashin, J. Appl. Mech. 32 (1965) 546), and the composite
itself (self-consistent: R. Hill, J. Mech. Phys. Solids 13 (1965) 189).
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, roots_hermitenorm

from fe_data.arrays import Booleans, Floats, numbers
from fe_data.errors import FitError
from fe_data.mechanics.properties import elastic_constants, equivalent_strain, moduli, von_mises
from fe_data.schema import BOUNDS, INPUT_NAMES
from fe_data.settings import Settings, checked_inputs, require_between, require_c, require_kind
from safe_files.text import Short

# p_sigma follows from the root mean square of the fibre stress by three numbers: reference medium,
# factor on `p_sigma_threshold_MPa`, and standard deviation of the logarithm of the stress. They are
# fitted to the 20 means of noise.csv. The default of `fluctuation` is fitted to b_eff and c_eff of
# the same means.
_FIBRE_REFERENCE = 0.4
_FIBRE_THRESHOLD = 1.42
_FIBRE_SPREAD = 0.144
_ITERATIONS = 12  # of the reference medium, and of the fit
_NO_HARDENING = 1e-6  # smallest b relative to the initial yield stress
_NEWTON_STEPS = 6  # for a plastic strain
_CHUNK = 10_000  # RVEs at a time; each needs some 10 kB
# Grid of matrix strains for the interpolation of curves: from _LEAST times the mean strain of the
# first increment to _LARGEST times the mean strain of the last increment.
_LEAST = 0.2
_LARGEST = 20.0
_POINTS = 80
_NODES, _WEIGHTS = roots_hermitenorm(9)
# Ranges in which b_eff and c_eff are close to RVEs (docs/validation.md), and the least b_m.
_HOLDS = {"b_m": (250.0, 1000.0), "c_m": (0.2, 0.55)}
_LEAST_HARDENING_MPa = 50.0
# Imaginary step for derivatives without rounding error (Squire & Trapp, SIAM Rev. 40, 1998).
_STEP = 1e-20j
# Outputs that the mean-field model computes.
MODELLED = ("b_eff_MPa", "c_eff", "E_eff_GPa", "nu_eff", "p_sigma")
Numbers = NDArray[Any]  # real, or complex for derivatives


def mean_field(
    inputs: ArrayLike,
    settings: Settings | None = None,
    *,
    reference: ArrayLike = 0.0,
    hardening: ArrayLike = 1.0,
    fluctuation: ArrayLike = 0.6,
    outputs: Sequence[str] = MODELLED,
) -> Floats:
    """Return the effective properties by mean-field homogenisation, for many inputs at once.

    Four numbers of the model are fitted to simulated RVEs. One is the default of `fluctuation`;
    three convert the root mean square of the fibre stress into `p_sigma`.

    At a plastic strain of 0.02 the stress of the averaged curve is within 6 % of the stress of
    RVEs, for any b_m and c_m. A fit to this curve gives b_eff and c_eff. They are within 20 % if
    b_m (times `hardening`) is 250 to 1000 MPa and c_m 0.2 to 0.55. Outside these ranges errors grow
    to 50 %, and a `UserWarning` is issued. If b_m (times `hardening`) is below 50 MPa, requesting
    b_eff or c_eff raises an error. These accuracies are for the default arguments. Without fibres
    the result is exact.

    Args:
        inputs: Inputs (..., n_in) in the order and units of `schema.INPUTS`.
        settings: Material constants, load and increments; mesh and microstructure have no effect.
        reference: Reference medium in [0, 1]: 0 is the matrix, 1 the composite itself. It is
            broadcast against (...), as are `hardening` and `fluctuation`.
        hardening: Factor on b_m, in [0.001, 1000].
        fluctuation: Standard deviation of the logarithm of the matrix strain, divided by √v_f, in
            [0, 1]; 0 is the modified secant method.
        outputs: Names of the outputs to compute.

    Returns:
        Outputs (..., len(outputs)) in the order of these names, in the units of the schema.

    Raises:
        ValueError: If an input or another number is out of range, shapes do not match, the model
            lacks an output, or b_eff or c_eff is requested for a matrix that hardly hardens.
        FitError: If fewer than 3 increments of a curve are plastic.

    Examples:
        >>> b, c, E, nu, p_sigma = mean_field([0.3, 400.0, 400.0, 0.4])  # v_f, E_f, b_m, c_m
        >>> print(f"{b:.0f} MPa, {c:.2f}, {E:.0f} GPa, {nu:.2f}, {p_sigma:.2f}")
        543 MPa, 0.34, 139 GPa, 0.29, 0.23
    """
    settings = Settings() if settings is None else settings
    require_kind("settings", settings, Settings)
    if settings.hardening != "power":
        raise ValueError(
            f"settings.hardening = {settings.hardening!r:.60}: mean_field supports only 'power'"
        )
    _check_modelled(outputs)
    X = _checked_inputs(inputs)
    parameters = {"reference": reference, "hardening": hardening, "fluctuation": fluctuation}
    others = {name: _checked_parameter(name, values) for name, values in parameters.items()}
    columns = _broadcast(X, others)
    shape = columns[0].shape
    rows = [column.reshape(-1, 1) for column in columns]
    if needs_power_law := bool({"b_eff_MPa", "c_eff"} & set(outputs)):
        _require_measured(_rves_of(settings, *rows))
    results = [np.empty((0, len(outputs)))]
    for start in range(0, len(rows[0]), _CHUNK):
        rves = _rves_of(settings, *(row[start : start + _CHUNK] for row in rows))
        results.append(_outputs(rves, outputs, needs_power_law))
    return np.concatenate(results).reshape(*shape, len(outputs))


def _broadcast(X: Floats, others: Mapping[str, Floats]) -> tuple[Numbers, ...]:
    """Return the inputs and other parameters as arrays of one shape; a ValueError names shapes."""
    try:
        return tuple(np.broadcast_arrays(*np.moveaxis(X, -1, 0), *others.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in others.items())
        raise ValueError(f"shapes do not match: inputs {X.shape}, {shapes}") from None


def _outputs(rves: "RVEs", outputs: Sequence[str], needs_power_law: bool) -> Floats:
    """Compute the named outputs of RVEs with arrays (n, 1), (n, len(outputs))."""
    E, nu = rves.elastic_constants()
    G_s, reached = rves.increments()
    p_sigma = rves.share_above_threshold(G_s[..., -1:], reached[..., -1:])
    columns_by_name = {"E_eff_GPa": E / 1e3, "nu_eff": nu, "p_sigma": p_sigma}
    if needs_power_law:
        b_eff, c_eff = rves.power_law(G_s, reached)
        columns_by_name |= {"b_eff_MPa": b_eff, "c_eff": c_eff}
    return np.stack([columns_by_name[name] for name in outputs], axis=-1)


def strain_concentration(
    inputs: ArrayLike,
    settings: Settings | None = None,
    *,
    reference: ArrayLike = 0.0,
    softening: ArrayLike = 1.0,
) -> Floats:
    """Return mean strains of both phases per mean strain of the RVE, by mean-field homogenisation.

    Args:
        inputs: Inputs (..., n_in) in the order and units of `schema.INPUTS`.
        settings: Material constants; None uses the defaults.
        reference: Reference medium in [0, 1], see `mean_field`; it is broadcast against (...).
        softening: Ratio of the secant to the elastic shear modulus of the matrix, in [0.001, 1]; 1
            is an elastic RVE. In a plastic RVE the fibres strain less.

    Returns:
        Strain concentration (..., 2, 3, 3) of the matrix, then of the fibres, for the strains xx,
        yy and engineering shear xy.

    Raises:
        ValueError: If an input or another number is out of range, or shapes do not match.

    Examples:
        >>> from fe_data import strain_concentration
        >>> in_matrix, in_fibres = strain_concentration([0.3, 400.0, 400.0, 0.4])
        >>> print(in_fibres.round(2)[0, 0])  # 0.7 in_matrix + 0.3 in_fibres is the identity
        0.44
    """
    settings = Settings() if settings is None else settings
    require_kind("settings", settings, Settings)
    X = _checked_inputs(inputs)
    parameters = {"reference": reference, "softening": softening}
    others = {name: _checked_parameter(name, values) for name, values in parameters.items()}
    vf, E_f, b, c, medium, soft = _broadcast(X, others)
    as_given = np.ones(vf.shape)
    even = np.zeros(vf.shape)
    rves = _rves_of(settings, vf, E_f, b, c, medium, hardening=as_given, fluctuation=even)
    _, _, dilatations, shears = rves.linear(soft * rves.G_m, rves.G_f)
    phases = []
    for dilatation, shear in zip(dilatations, shears, strict=True):
        # ε_xx = θ D / 2 + γ S,   ε_yy = θ D / 2 - γ S   with dilatation θ and shear γ of the RVE
        A = np.zeros((*vf.shape, 3, 3))
        A[..., 0, 0] = A[..., 1, 1] = (dilatation + shear) / 2
        A[..., 0, 1] = A[..., 1, 0] = (dilatation - shear) / 2
        A[..., 2, 2] = shear
        phases.append(A)
    return np.stack(phases, axis=-3)


def _check_modelled(outputs: Sequence[str]) -> None:
    """Raise a ValueError for an output that the mean-field model does not compute."""
    allowed = ", ".join(MODELLED)
    names = [] if isinstance(outputs, str) or not np.iterable(outputs) else list(outputs)
    if not names:
        raise ValueError(f"outputs = {outputs!r:.60}: must be names out of {allowed}")
    for name in names:
        if not isinstance(name, str) or name not in MODELLED:
            raise ValueError(f"outputs: the mean-field model has no {name!r:.60}; it has {allowed}")


def _require_measured(rves: "RVEs") -> None:
    """Reject matrices that hardly harden; warn if b_eff and c_eff may differ much from RVEs."""
    composite = rves.vf > 0
    b = rves.b[composite]
    c = rves.c[composite]
    if (b < _LEAST_HARDENING_MPa).any():
        raise ValueError(
            f"b_m_MPa times hardening = {b.min():g} is out of range: b_eff_MPa and c_eff need at "
            f"least {_LEAST_HARDENING_MPa:g}; other outputs of the mean-field model do not"
        )
    for name, values in ("b_m", b), ("c_m", c):
        low, high = _HOLDS[name]
        outside = values[(values < 0.999 * low) | (values > 1.001 * high)]  # margin for rounding
        if outside.size:
            warnings.warn(
                f"{name} = {outside[0]:g}: b_eff and c_eff of the mean-field model are within 20 % "
                f"of simulated RVEs only for {name} in [{low:g}, {high:g}]",
                stacklevel=3,
            )


def _checked_inputs(inputs: ArrayLike) -> Floats:
    """Return the inputs as an array; a ValueError if one is out of range."""
    X = checked_inputs("inputs", inputs)
    c = X[..., INPUT_NAMES.index("c_m")]
    if c.size:  # all are in range if the smallest and the largest are
        require_c(float(c.min()), "power")
        require_c(float(c.max()), "power")
    return X


def _checked_parameter(name: str, values: ArrayLike) -> Floats:
    """Return a parameter of the model as an array; a ValueError if it is out of range."""
    array = numbers(name, values)
    low, high = BOUNDS[name]
    for value in array[~((low <= array) & (array <= high))].tolist():
        require_between(name, value, low, high)
    return array


def _rves_of(
    settings: Settings,
    vf: Floats,
    E_f: Floats,
    b: Floats,
    c: Floats,
    reference: Floats,
    hardening: Floats,
    fluctuation: Floats,
) -> "RVEs":
    """Make `RVEs` from inputs and parameters (..., 1)."""
    matrix = moduli(1e3 * settings.E_m_GPa, settings.nu_m)
    fibre = moduli(1e3, settings.nu_f)  # of E_f = 1 GPa
    return RVEs(
        settings=settings,
        vf=vf,
        K_m=matrix.bulk,
        G_m=matrix.shear,
        K_f=fibre.bulk * E_f,
        G_f=fibre.shear * E_f,
        b=hardening * b,
        c=c,
        reference=reference,
        spread=fluctuation * np.sqrt(vf),
    )


@dataclass(frozen=True, repr=False)
class RVEs(Short):
    """Linear and secant homogenisation of many RVEs.

    Arrays of inputs are (..., 1), and arrays along a curve (..., points). Stresses are in MPa.
    """

    settings: Settings
    vf: Floats
    K_m: float  # bulk and shear moduli of matrix and fibres
    G_m: float
    K_f: Floats
    G_f: Floats
    b: Floats  # hardening coefficient of the matrix, times the factor `hardening`
    c: Floats
    reference: Floats | float
    spread: Floats  # standard deviation of the logarithm of the matrix strain

    def mean(self, pair: tuple[Numbers, Numbers]) -> Numbers:
        """Return the volume average of a pair of values, for matrix and fibres."""
        return np.asarray((1 - self.vf) * pair[0] + self.vf * pair[1])

    def concentration(self, moduli: tuple[Numbers, Numbers], medium: Numbers) -> Any:
        """Return the strains of matrix and fibres per strain of the composite."""
        # A_r = (M_r + M*)⁻¹ / ⟨(M + M*)⁻¹⟩, with the modulus M* of the medium (Hashin–Shtrikman)
        in_matrix = 1 / (moduli[0] + medium)
        in_fibres = 1 / (moduli[1] + medium)
        total = self.mean((in_matrix, in_fibres))
        return in_matrix / total, in_fibres / total

    def linear(self, G_m: Numbers, G_f: Numbers) -> tuple[Numbers, Numbers, Any, Any]:
        """Return in-plane moduli k and G of the linear composite, and the strains of its phases.

        Dilatations and shears are pairs for matrix and fibres, relative to the composite.

        Returns:
            k, G, dilatations and shears.
        """
        k_m = self.K_m + G_m / 3
        k_f = self.K_f + G_f / 3
        k = k_m
        G = G_m
        for _ in range(_ITERATIONS if np.any(self.reference) else 1):
            # The reference medium lies between the matrix and the composite.
            k_r = k_m + self.reference * (k - k_m)
            G_r = G_m + self.reference * (G - G_m)
            # k = ⟨k A⟩ with k* = G_r,   G = ⟨G A⟩ with G* = G_r k_r / (k_r + 2 G_r)
            dilatations = self.concentration((k_m, k_f), G_r)
            shears = self.concentration((G_m, G_f), G_r * k_r / (k_r + 2 * G_r))
            k = self.mean((k_m * dilatations[0], k_f * dilatations[1]))
            G = self.mean((G_m * shears[0], G_f * shears[1]))
        return k, G, dilatations, shears

    def shape(self, k: Numbers, G: Numbers) -> tuple[Numbers, Numbers]:
        """Return dilatation and shear of the composite at mean strain xx = 1 and zero stress yy."""
        # σ_yy = (k - G) ε_xx + (k + G) ε_yy = 0
        lateral = (G - k) / (k + G)
        return 1 + lateral, (1 - lateral) / 2

    def rms_strain(self, G_m: Floats, fibres: bool = False) -> Floats:
        """Return the root mean square of the equivalent strain in a phase, if E_xx = 1."""
        # With the energy of the composite W = k θ² / 2 + 2 G γ², the mean square over phase r is
        #     ⟨ε_eq²⟩_r = 2 / (3 v_r) ∂W/∂G_r
        dilatation, shear = self.shape(*self.linear(G_m, self.G_f)[:2])
        if fibres:
            k, G, *_ = self.linear(G_m + 0, self.G_f + _STEP)
            share = self.vf
        else:
            k, G, *_ = self.linear(G_m + _STEP, self.G_f + 0)
            share = 1 - self.vf
        slope_k = k.imag / _STEP.imag
        slope_G = G.imag / _STEP.imag
        slope = slope_k * dilatation**2 / 2 + 2 * slope_G * shear**2
        with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 without fibres
            return np.sqrt(slope / (1.5 * share))

    def averages(self, G_m: Floats) -> tuple[Floats, Floats, Floats]:
        """Return mean strain, stress and plastic strain at mean strain xx = 1, (..., points, 4)."""
        k, G, dilatations, shears = self.linear(G_m, self.G_f)
        dilatation, shear = self.shape(k, G)
        zero = np.zeros_like(k)
        volume = dilatation * dilatations[0]  # dilatation of the matrix
        shear_m = shear * shears[0]  # shear of the matrix
        strain = [zero + 1, dilatation - 1, zero, zero]
        # σ_xx = k θ + 2 G γ,   σ_zz = ⟨λ θ⟩ with λ = K - 2G/3
        lame_m = self.K_m - 2 / 3 * G_m
        lame_f = self.K_f - 2 / 3 * self.G_f
        zz = self.mean((lame_m * volume, lame_f * dilatation * dilatations[1]))
        stress = [k * dilatation + 2 * G * shear, zero, zz, zero]
        # ε_p = (1 - v_f) (1 - G_s / G_m) dev ε_m, with the strain ε_m of the matrix
        deviator = [volume / 6 + shear_m, volume / 6 - shear_m, -volume / 3, zero]
        plastic = [(1 - self.vf) * (1 - G_m / self.G_m) * component for component in deviator]
        return (
            np.stack(strain, axis=-1),
            np.stack(stress, axis=-1),
            np.stack(plastic, axis=-1),
        )

    def elastic_constants(self) -> tuple[Floats, Floats]:
        """Return E [MPa] and ν of the elastic composite, (...)."""
        strain, stress, _ = self.averages(self.G_m + 0 * self.vf)
        E, nu = elastic_constants(strain.reshape(-1, 4), stress.reshape(-1, 4))
        shape = self.vf.shape[:-1]
        return E.reshape(shape), nu.reshape(shape)

    def mises(self, strain: Floats) -> Floats:
        """Return the von Mises stress of the matrix at equivalent strains, (...)."""
        # 3G (ε - p) = a + b p^c, or with u = p^c:   b u + 3G u^(1/c) = 3G ε - a. Start from the
        # smaller of two upper bounds of u. The first bound is infinite or 0 / 0 for b = 0.
        excess = np.maximum(3 * self.G_m * strain - self.settings.sigma_y0_MPa, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.fmin(excess / self.b, (excess / (3 * self.G_m)) ** self.c)
        for _ in range(_NEWTON_STEPS):  # Newton's method from above, for a convex function
            plastic = 3 * self.G_m * np.maximum(u, 1e-300) ** (1 / self.c)
            slope = self.b + plastic / (self.c * np.maximum(u, 1e-300))
            u = u - (self.b * u + plastic - excess) / np.maximum(slope, 1e-300)
        return np.minimum(3 * self.G_m * strain, self.settings.sigma_y0_MPa + self.b * u)

    def secant(self, strain: Floats) -> tuple[Floats, Floats]:
        """Return the secant shear modulus of the matrix at rms strains, and the mean strain xx.

        Returns:
            Secant modulus, and the mean strain xx of the RVE with this strain of the matrix.
        """
        # 3 G_s ε² = ⟨q(f ε) f ε⟩ over a lognormal f of mean square 1, by Gauss–Hermite quadrature
        total = np.zeros_like(strain)
        for node, weight in zip(_NODES, _WEIGHTS / _WEIGHTS.sum(), strict=True):
            factor = np.exp(self.spread * node - self.spread**2)
            total = total + weight * factor * self.mises(factor * strain)
        G_s = total / (3 * strain)
        return G_s, strain / self.rms_strain(G_s)

    def increments(self) -> tuple[Floats, Floats]:
        """Return the secant modulus of the matrix and mean strain xx of each increment."""
        count = self.settings.increments
        last = abs(self.settings.strain)  # tension and compression give the same result
        steps = last * np.arange(1, count + 1) / count
        grid = np.geomspace(_LEAST * last / count, _LARGEST * last, _POINTS)
        _, strain = self.secant(grid + 0 * self.vf)
        moduli = np.empty((*strain.shape[:-1], count))
        for row in np.ndindex(strain.shape[:-1]):
            moduli[row] = np.interp(np.log(steps), np.log(strain[row]), np.log(grid))
        return self.secant(np.exp(moduli))

    def power_law(self, G_s: Floats, reached: Floats) -> tuple[Floats, Floats]:
        """Fit b_eff and c_eff of the averaged curve by least squares, like `fit_power_law`."""
        _, stress, plastic = (reached[..., None] * average for average in self.averages(G_s))
        excess = von_mises(stress) - self.settings.sigma_y0_MPa
        p = equivalent_strain(plastic)
        used = (excess >= 0) & (p > 0)
        if (np.count_nonzero(used, axis=-1) < 3).any():
            raise FitError("fewer than 3 increments are plastic: no hardening curve to fit")
        with np.errstate(all="ignore"):
            b, c = self._fitted(excess, np.log(np.where(used, p, 1)), used)
        if not np.isfinite(b * c).all():
            raise FitError("plastic strains are too small: no hardening curve to fit")
        # Without hardening c would be determined by rounding errors.
        return b, np.where(b > _NO_HARDENING * self.settings.sigma_y0_MPa, c, 0)

    def _fitted(self, excess: Floats, log_p: Floats, used: Booleans) -> tuple[Floats, Floats]:
        """Fit b and c to the stresses above the initial yield stress, by least squares."""
        c = self.c + 0 * self.vf
        for _ in range(_ITERATIONS):
            power = np.where(used, np.exp(c * log_p), 0)
            # b = (σ - a)ᵀ p^c / |p^c|²
            b = (excess * power).sum(-1, keepdims=True) / (power**2).sum(-1, keepdims=True)
            # Gauss–Newton: JᵀJ δ = Jᵀ r with J = ∂(b p^c)/∂(b, c) and r = σ - a - b p^c
            J = np.stack([power, b * power * log_p], axis=-1)
            normal = np.einsum("...pi,...pj->...ij", J, J) + 1e-300 * np.eye(2)  # J = 0 where b = 0
            right = np.einsum("...pi,...p->...i", J, excess - b * power)
            c = np.maximum(c + np.linalg.solve(normal, right[..., None])[..., 1, :], 0)
        return b[..., 0], c[..., 0]

    def share_above_threshold(self, G_s: Floats, reached: Floats) -> Floats:
        """Return p_sigma at one increment, (...)."""
        # The fibre stress is assumed lognormal: p_σ = Φ(ln(σ_rms / threshold) / spread)
        medium = replace(self, reference=_FIBRE_REFERENCE)
        stress = 3 * self.G_f * reached * medium.rms_strain(G_s, fibres=True)
        threshold = _FIBRE_THRESHOLD * self.settings.p_sigma_threshold_MPa
        share = ndtr(np.log(stress / threshold) / _FIBRE_SPREAD)
        return np.where(self.vf > 0, share, 0)[..., 0]
