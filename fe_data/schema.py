"""The inputs and outputs of an RVE, and the bounds of all numbers that a user passes.

Tables, records, comparisons, the command line, the dataset card and the figures use this module. An
output that is not `required` may be missing in a table, so that older tables can still be read.
"""

from collections.abc import Container
from dataclasses import dataclass

from fe_data.arrays import Booleans, Floats

DIMENSIONLESS = "–"


@dataclass(frozen=True)
class Quantity:
    """An input or an output of an RVE.

    Attributes:
        name: Name of the column in a table, which ends with the unit, if any.
        unit: Unit, or DIMENSIONLESS.
        meaning: Description for the dataset card and the help of the command line.
        label: Mathematical symbol in LaTeX, for figures.
        bounds: Values that are scaled to -1 and 1. Designs draw inputs between them.

    Examples:
        >>> from fe_data.schema import INPUTS
        >>> [quantity.symbol for quantity in INPUTS]
        ['vf', 'E_f', 'b_m', 'c_m']
        >>> INPUTS[1].label_with_unit
        '$E_f$ [GPa]'
    """

    name: str
    unit: str
    meaning: str
    label: str
    bounds: tuple[float, float]

    @property
    def symbol(self) -> str:
        """The name without the unit."""
        return self.name.removesuffix(f"_{self.unit}")

    @property
    def unit_after_number(self) -> str:
        """Text after a number: a space and the unit, or nothing if dimensionless."""
        return "" if self.unit == DIMENSIONLESS else f" {self.unit}"

    @property
    def label_with_unit(self) -> str:
        """The label of an axis."""
        return f"{self.label} [{self.unit}]"


@dataclass(frozen=True)
class Input(Quantity):
    """An input. Every table has a column for it.

    Attributes:
        allowed: Smallest and largest value that functions, files and commands accept.
        beta: Shape parameters of the beta distribution of the design "train_beta".
        or_zero: Whether 0 is allowed in addition.
        remark: Text added to a message about the allowed values.
        fraction: Whether it is a fraction, which users may pass in percent by mistake.

    Examples:
        >>> from fe_data.schema import INPUTS
        >>> INPUTS[0].bounds, INPUTS[0].allowed
        ((0.05, 0.4), (0.005, 0.91))
    """

    allowed: tuple[float, float]
    beta: tuple[float, float]
    or_zero: bool = False
    remark: str = ""
    fraction: bool = False

    def allows(self, values: Floats) -> Booleans:
        """Mark which values (...) are allowed; NaN is not."""
        low, high = self.allowed
        inside = (low <= values) & (values <= high)
        return inside | (values == 0) if self.or_zero else inside

    @property
    def allowed_text(self) -> str:
        """The allowed values, for a message."""
        low, high = self.allowed
        return f"{'0 or ' if self.or_zero else ''}[{low:g}, {high:g}]{self.remark}"


@dataclass(frozen=True)
class Output(Quantity):
    """An output.

    Attributes:
        digits: Decimals that the command line prints.
        allowed: Smallest and largest meaningful value of a fit by the general solver, if limited.
        noise: Standard deviation that the paper assumes, divided by the middle of `bounds`; None if
            the paper has no such output.
        required: Whether every table must have the column.
        absolute: Whether two tables are compared by absolute instead of relative differences, as
            for fractions that may be 0.
        fitted: Whether it is a parameter of the power law that is fitted to the averaged curve. A
            sample whose curve cannot be fitted has no value of it.

    Examples:
        >>> from fe_data.schema import OUTPUTS
        >>> [output.name for output in OUTPUTS if output.absolute][:3]
        ['p_sigma', 'E_spread', 'isotropy_misfit']
    """

    digits: int
    allowed: tuple[float, float] | None = None
    noise: float | None = None
    required: bool = False
    absolute: bool = False
    fitted: bool = False


# Outputs of a path that ends when an RVE breaks: name, unit, meaning, symbol, bounds and decimals.
# The names are those of fields of `composite.interface.Strength`.
OF_STRENGTH = (
    (
        "strain_at_strength",
        DIMENSIONLESS,
        "tensor strain at the strength",
        r"\varepsilon",
        (0.0, 0.05),
        5,
    ),
    ("debonded_fraction", DIMENSIONLESS, "debonded share of the interfaces", "f_d", (0.0, 1.0), 3),
    ("damaged_area", DIMENSIONLESS, "damaged share of the area", "A_d", (0.0, 1.0), 3),
    ("dissipated_J_m2", "J/m²", "dissipated energy per area of a section", "D", (0.0, 1e3), 2),
    ("energy_error", DIMENSIONLESS, "relative error of the energies", "e", (-0.1, 0.1), 5),
)


def _of_strength(path: str, load: str, symbol: str) -> tuple[Output, ...]:
    """Return the strength under a load, and the further outputs of this path."""
    strength = Output(f"{path}_MPa", "MPa", f"strength in {load}", f"${symbol}$", (0.0, 300.0), 2)
    further = (
        Output(
            f"{path}_{name}",
            unit,
            f"{meaning} in {load}",
            f"${label}({symbol})$",
            bounds,
            digits,
            absolute=name not in ("strain_at_strength", "dissipated_J_m2"),
        )
        for name, unit, meaning, label, bounds, digits in OF_STRENGTH
    )
    return strength, *further


_STRENGTHS = (
    *_of_strength("transverse_tension", "tension across the fibres", "Y_T"),
    *_of_strength("transverse_compression", "compression across the fibres", "Y_C"),
    *_of_strength("longitudinal_shear", "shear along the fibres", "S_{LT}"),
    *_of_strength("transverse_shear", "shear across the fibres", "S_{TT}"),
)
# The bounds of the inputs and the noise are from the paper (sections 3.2 and 3.2.1).
INPUTS = (
    Input(
        name="vf",
        unit=DIMENSIONLESS,
        meaning="volume fraction of the fibres",
        label="$v_f$",
        bounds=(0.05, 0.40),
        # Thin fibres need fine meshes: at the smallest volume fraction there are 134 000 dofs.
        allowed=(0.005, 0.91),  # touching fibres in a hexagonal array have 0.907
        beta=(2.0, 4.0),
        or_zero=True,  # the pure matrix
        fraction=True,
    ),
    Input(
        name="E_f_GPa",
        unit="GPa",
        meaning="Young's modulus of the fibres",
        label="$E_f$",
        bounds=(200.0, 600.0),
        allowed=(1e-6, 1e5),  # the same as for the moduli of all materials
        beta=(3.0, 2.0),
    ),
    Input(
        name="b_m_MPa",
        unit="MPa",
        meaning="hardening coefficient of the matrix",
        label="$b_m$",
        bounds=(300.0, 500.0),
        allowed=(0.0, 1e5),
        beta=(3.0, 3.0),
    ),
    Input(
        name="c_m",
        unit=DIMENSIONLESS,
        meaning="hardening exponent of the matrix",
        label="$c_m$",
        bounds=(0.20, 0.55),
        allowed=(1e-4, 1.0),  # union over all laws, see `settings.hardening.HARDENING_LAWS`
        beta=(3.0, 3.0),
        remark=", less under some hardening laws",
    ),
)
OUTPUTS = (
    Output(
        name="b_eff_MPa",
        unit="MPa",
        meaning="effective hardening coefficient",
        label=r"$b_\mathrm{eff}$",
        bounds=(300.0, 800.0),
        digits=1,
        allowed=(0.0, 1e4),
        noise=0.03,
        required=True,
        fitted=True,
    ),
    Output(
        name="c_eff",
        unit=DIMENSIONLESS,
        meaning="effective hardening exponent",
        label=r"$c_\mathrm{eff}$",
        bounds=(0.16, 0.50),
        digits=4,
        allowed=(0.0, 1.0),
        noise=0.02,
        required=True,
        fitted=True,
    ),
    Output(
        name="E_eff_GPa",
        unit="GPa",
        meaning="effective Young's modulus",
        label=r"$E_\mathrm{eff}$",
        bounds=(100.0, 170.0),
        digits=2,
        noise=0.005,
        required=True,
    ),
    Output(
        name="nu_eff",
        unit=DIMENSIONLESS,
        meaning="effective Poisson ratio",
        label=r"$\nu_\mathrm{eff}$",
        bounds=(0.277, 0.299),
        digits=4,
        noise=0.002,
        required=True,
    ),
    Output(
        name="p_sigma",
        unit=DIMENSIONLESS,
        meaning="area fraction of the fibres with a von Mises stress above 900 MPa",
        label=r"$p_\sigma$",
        bounds=(0.0, 0.8),
        digits=3,
        noise=0.25,
        required=True,
        absolute=True,
    ),
    # Elastic anisotropy, which `generate` adds with anisotropy=True.
    Output(
        name="E_spread",
        unit=DIMENSIONLESS,
        meaning="largest over smallest Young's modulus in the plane, minus 1",
        label=r"$E_\mathrm{max} / E_\mathrm{min} - 1$",
        bounds=(0.0, 0.1),
        digits=4,
        absolute=True,
    ),
    Output(
        name="isotropy_misfit",
        unit=DIMENSIONLESS,
        meaning="distance of the elastic stiffness from the nearest isotropic one, over its norm",
        label=r"$\|C - C_\mathrm{iso}\| / \|C\|$",
        bounds=(0.0, 0.05),
        digits=4,
        absolute=True,
    ),
    # Of the general solver: E_T_GPa always, the others with constants=True.
    Output(
        name="E_T_GPa",
        unit="GPa",
        meaning="Young's modulus across the fibres: along x, or with constants over all directions",
        label=r"$E_T$",
        bounds=(0.0, 200.0),
        digits=2,
    ),
    Output(
        name="E_L_GPa",
        unit="GPa",
        meaning="Young's modulus along the fibres",
        label=r"$E_L$",
        bounds=(0.0, 400.0),
        digits=2,
    ),
    Output(
        name="nu_LT",
        unit=DIMENSIONLESS,
        meaning="contraction across the fibres under stress along them",
        label=r"$\nu_{LT}$",
        bounds=(0.0, 0.5),
        digits=4,
    ),
    Output(
        name="nu_TT",
        unit=DIMENSIONLESS,
        meaning="Poisson ratio in the plane across the fibres",
        label=r"$\nu_{TT}$",
        bounds=(0.0, 1.0),
        digits=4,
    ),
    Output(
        name="G_LT_GPa",
        unit="GPa",
        meaning="shear modulus along the fibres",
        label=r"$G_{LT}$",
        bounds=(0.0, 100.0),
        digits=3,
    ),
    Output(
        name="G_TT_GPa",
        unit="GPa",
        meaning="shear modulus in the plane across the fibres",
        label=r"$G_{TT}$",
        bounds=(0.0, 100.0),
        digits=3,
    ),
    Output(
        name="k_T_GPa",
        unit="GPa",
        meaning="bulk modulus in plane strain",
        label=r"$k_T$",
        bounds=(0.0, 300.0),
        digits=2,
    ),
    Output(
        name="alpha_L_per_K",
        unit="1/K",
        meaning="thermal expansion along the fibres",
        label=r"$\alpha_L$",
        bounds=(0.0, 1e-4),
        digits=8,
    ),
    Output(
        name="alpha_T_per_K",
        unit="1/K",
        meaning="thermal expansion across the fibres",
        label=r"$\alpha_T$",
        bounds=(0.0, 1e-4),
        digits=8,
    ),
    Output(
        name="transverse_misfit",
        unit=DIMENSIONLESS,
        meaning="distance of the stiffness from transverse isotropy, over its norm",
        label=r"misfit",
        bounds=(0.0, 0.05),
        digits=4,
        absolute=True,
    ),
    *_STRENGTHS,  # of a material that can break, which `generate` adds with strengths
)

# Bounds of the other numbers that a user passes, by the name of the argument or setting.
LARGEST_STRAIN = 0.5  # of a component of the mean strain, because the model assumes small strain
LEAST_STRAIN = 1e-4  # final strain of a simulation that computes effective properties
BOUNDS: dict[str, tuple[float, float]] = {
    "min_spacing": (1.0, 3.0),
    # Fibres are condensed to dense matrices. At resolution 25 an RVE takes 1 minute and 1.9 GB;
    # at 50 each fibre would take 9 GB.
    "resolution": (1.0, 25.0),
    "tolerance": (1e-12, 1e-3),
    "E_m_GPa": (1e-3, 1e5),
    "nu_m": (0.0, 0.49),
    "nu_f": (0.0, 0.49),
    "sigma_y0_MPa": (1e-3, 1e6),
    "p_sigma_threshold_MPa": (1e-3, 1e6),
    "radii": (1e-3, 0.49),  # relative to the side of the square
    "height": (0.05, 4.0),  # relative to the width; the numbering of points needs less than 4.29
    "interphase": (0.0, 0.49),  # relative to the side of the square
    "void_fraction": (0.0, 0.5),
    "void_radius": (0.01, 100.0),  # relative to the mean radius of the fibres
    # Of a hardening table
    "plastic_strain": (0.0, 10.0),
    "stress": (1e-3, 1e6),
    # Of random paths
    "amplitude": (1e-6, LARGEST_STRAIN / 5),
    "dilatation": (0.0, 1.0),
    "length": (0.01, 10.0),
    # Of the mean-field model
    "reference": (0.0, 1.0),
    "hardening": (1e-3, 1e3),
    "fluctuation": (0.0, 1.0),
    "softening": (1e-3, 1.0),
}
COUNTS: dict[str, tuple[int, int]] = {
    "n_fibres": (1, 1000),
    "increments": (4, 10_000),
}

INPUT_NAMES = tuple(quantity.name for quantity in INPUTS)
INPUT_BOUNDS = {quantity.name: quantity.bounds for quantity in INPUTS}


def output_names() -> tuple[str, ...]:
    """Return the names of all outputs that a simulation can have.

    Returns:
        The names, in the order of their columns.

    Examples:
        >>> from fe_data.schema import output_names
        >>> output_names()[:3]
        ('b_eff_MPa', 'c_eff', 'E_eff_GPa')
    """
    return tuple(output.name for output in OUTPUTS)


def required_outputs() -> tuple[str, ...]:
    """Return the names of the outputs that every table has: the outputs of the paper.

    Returns:
        The names, in the order of their columns.

    Examples:
        >>> from fe_data.schema import required_outputs
        >>> required_outputs()[-1]
        'p_sigma'
    """
    return tuple(output.name for output in OUTPUTS if output.required)


def fitted_outputs() -> tuple[str, ...]:
    """Return names of the outputs that a sample lacks if no power law can be fitted to its curve.

    Returns:
        The names, in the order of their columns.

    Examples:
        >>> from fe_data.schema import fitted_outputs
        >>> fitted_outputs()
        ('b_eff_MPa', 'c_eff')
    """
    return tuple(output.name for output in OUTPUTS if output.fitted)


def strength_outputs() -> tuple[str, ...]:
    """Return names of the outputs of strengths, which a sample lacks if a path ends before a peak.

    Returns:
        The names, in the order of their columns.

    Examples:
        >>> from fe_data.schema import strength_outputs
        >>> strength_outputs()[:2]
        ('transverse_tension_MPa', 'transverse_tension_strain_at_strength')
    """
    return tuple(output.name for output in _STRENGTHS)


def outputs_among(names: Container[str], *, fitted: bool = True) -> tuple[str, ...]:
    """Return the names of the outputs of a table or a simulation.

    Args:
        names: Container of names, such as the header of a table or the values of a simulation.
        fitted: Whether a power law was fitted. If False, its parameters are left out.

    Returns:
        Names of all required outputs and of the optional outputs in `names`, in the order of the
        schema.

    Examples:
        >>> from fe_data.schema import outputs_among, required_outputs
        >>> outputs_among(["vf", "of_another_program"]) == required_outputs()
        True
    """
    needed = [output for output in OUTPUTS if output.required or output.name in names]
    return tuple(output.name for output in needed if fitted or not output.fitted)


def output(name: str) -> Output:
    """Return the output with a name.

    Args:
        name: Name of the column.

    Returns:
        The output.

    Raises:
        KeyError: If there is no such output.

    Examples:
        >>> from fe_data.schema import output
        >>> output("nu_eff").noise
        0.002
    """
    return {quantity.name: quantity for quantity in OUTPUTS}[name]
