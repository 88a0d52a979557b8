"""What the fast and the general solver return for a solved RVE."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from fe_data.arrays import Floats, Ints, keep_copies
from fe_data.errors import ConvergenceError
from fe_data.geometry.domain import Domain
from fe_data.geometry.microstructure import Microstructure
from fe_data.loading import Loading
from fe_data.mechanics.properties import EffectiveProperties
from fe_data.schema import fitted_outputs, output_names
from safe_files.text import Short


@dataclass(frozen=True, repr=False)
class Fields(Short):
    """Values at the q integration points of each of m elements, after an increment."""

    matrix_stress: Floats  # (m, q, 4) xx, yy, zz, xy [MPa], or (m, q, 6) with xz and yz
    fibre_stress: tuple[Floats, ...]  # of the same form, for each fibre
    plastic_strain: Floats  # (m, q) equivalent plastic strain of the matrix [-]


class Cracks(NamedTuple):
    """What has broken at the end of loading, for a figure."""

    points: Floats  # (n, 2) nodes of the mesh
    displacement: Floats  # (n, 2), relative to the width of the RVE
    sides: Ints  # (k, 6) nodes of both faces, see `Mesh.interfaces`
    damage: Floats  # (k, 3) damage at the start, the end and the middle of each side
    largest: float  # largest component of an opening, relative to the width of the RVE
    of_elements: Floats  # (m,) damage of the elements
    strength: tuple[float, float] | None  # [MPa], and the mean strain there; None if not reached


@dataclass(frozen=True, repr=False)
class RVEResult(Short):
    """Averages and properties of one RVE, without its fields.

    Attributes:
        effective: Outputs by name, without b_eff and c_eff if they cannot be fitted; empty if
            effective properties were not computed.
        history: Volume averages at the start and after each increment, see `EquilibriumPath`.
        fibre_centres: (n_fibres, 2), relative to the side of the RVE.
        info: Sizes, counts, measures of fit quality, and seconds of each stage.
        fibre_radii: (n_fibres,) relative to the side of the RVE; None if all are equal to the
            `radius` in `info`.

    Examples:
        >>> from fe_data import Inputs, Settings, solve_rve
        >>> one_fibre = Settings(n_fibres=1, resolution=3, increments=10)
        >>> result = solve_rve(Inputs(0.2, 400.0, 400.0, 0.4), one_fibre).result()
        >>> result.fibre_centres.shape
        (1, 2)
        >>> result.info["cutbacks"]
        0
    """

    effective: dict[str, float]
    history: dict[str, Floats]
    fibre_centres: Floats
    info: dict[str, float | int | str]
    fibre_radii: Floats | None = None

    def __post_init__(self) -> None:
        keep_copies(self)


class SolvedRVE(Protocol):
    """A solved RVE of either solver, with all data for figures and records."""

    @property
    def microstructure(self) -> Microstructure:
        """The fibres."""

    @property
    def discretisation(self) -> Domain:
        """The mesh."""

    @property
    def loading(self) -> Loading:
        """The path."""

    @property
    def fields(self) -> Fields:
        """Stress and plastic strain at the end."""

    @property
    def history(self) -> dict[str, Floats]:
        """Volume averages at the start and after each increment."""

    @property
    def effective(self) -> EffectiveProperties | None:
        """Effective properties; None if they were not computed."""

    @property
    def p_sigma(self) -> float:
        """Area fraction of the fibres with a von Mises stress above the threshold."""

    @property
    def yield_stress(self) -> float:
        """Initial yield stress of the matrix [MPa]."""

    @property
    def cracks(self) -> Cracks | None:
        """What has broken at the end; None if nothing can break."""

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of iterations, factorisations and cutbacks."""

    @property
    def n_dofs(self) -> int:
        """Number of degrees of freedom."""

    @property
    def seconds(self) -> dict[str, float]:
        """Wall time of each stage [s]."""

    @property
    def stop(self) -> ConvergenceError | KeyboardInterrupt | None:
        """What ended the path early; None if the path is complete."""

    def result(self) -> RVEResult:
        """Return the averages and properties, without the fields."""


def result_of(
    rve: SolvedRVE, *, outputs: Mapping[str, float] | None = None, **info: str
) -> RVEResult:
    """Take averages and properties from a solved RVE.

    Args:
        rve: Solved RVE.
        outputs: Further outputs by name, if there are effective properties.
        **info: Further information by name.

    Returns:
        The result. It lacks effective properties if they were not computed, and b_eff and c_eff
        if the curve has too few plastic increments for a fit.
    """
    values: dict[str, Any] = {}
    if rve.effective is not None:
        values = {**dataclasses.asdict(rve.effective), "p_sigma": rve.p_sigma, **(outputs or {})}
        if not rve.effective.is_fitted:
            for name in (*fitted_outputs(), "hardening_residual"):
                del values[name]
    names = [name for name in (*output_names(), *(outputs or {})) if name in values]
    radii = rve.microstructure.radii
    return RVEResult(
        effective={name: values[name] for name in names},
        history=rve.history,
        fibre_centres=rve.microstructure.centres,
        info={
            "radius": float(radii.max(initial=0.0)),
            **rve.counts,
            "n_dofs": rve.n_dofs,
            "n_elements": len(rve.discretisation.triangles),
            **info,
            **{name: value for name, value in values.items() if name not in names},
            **{f"seconds_{stage}": value for stage, value in rve.seconds.items()},
        },
        fibre_radii=radii if len(set(radii.tolist())) > 1 else None,
    )
