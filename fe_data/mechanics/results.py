"""What the fast and the general solver return for a solved RVE."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

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
    fibre_plastic_strain: tuple[Floats, ...] = ()  # the same for each fibre; empty if it is zero


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


@dataclass(frozen=True, repr=False, kw_only=True)
class SolvedRVE(Short):
    """A solved RVE of either solver, with all data for figures and records.

    Attributes:
        cracks: What has broken at the end; None if nothing can break.
        further_outputs: Effective properties that only one of the solvers has, by name.
        further_info: Texts for the record, by name.
    """

    microstructure: Microstructure
    discretisation: Domain  # the mesh
    loading: Loading
    history: dict[str, Floats]  # volume averages at the start and after each increment
    fields: Fields  # at the end
    effective: EffectiveProperties | None = None  # None if they were not computed
    p_sigma: float  # area fraction of the fibres with a von Mises stress above the threshold
    yield_stress: float = math.inf  # initial yield stress in the fit [MPa]; infinite if unknown
    counts: dict[str, int]  # numbers of iterations, factorisations, cutbacks and so on
    n_dofs: int
    seconds: dict[str, float]  # wall time of each stage
    stop: ConvergenceError | KeyboardInterrupt | None  # what ended the path early, if anything did
    cracks: Cracks | None = None
    further_outputs: dict[str, float] = dataclasses.field(default_factory=dict)
    further_info: dict[str, str] = dataclasses.field(default_factory=dict)

    def result(self) -> RVEResult:
        """Return the averages and properties, without the fields.

        Returns:
            The result. It lacks effective properties if they were not computed, and b_eff and c_eff
            if the curve has too few plastic increments for a fit.
        """
        values: dict[str, Any] = {}
        if self.effective is not None:
            values = {**dataclasses.asdict(self.effective), "p_sigma": self.p_sigma}
            values |= self.further_outputs
            if not self.effective.is_fitted:
                for name in (*fitted_outputs(), "hardening_residual"):
                    del values[name]
        names = [name for name in (*output_names(), *self.further_outputs) if name in values]
        radii = self.microstructure.radii
        return RVEResult(
            effective={name: values[name] for name in names},
            history=self.history,
            fibre_centres=self.microstructure.centres,
            info={
                "radius": float(radii.max(initial=0.0)),
                **self.counts,
                "n_dofs": self.n_dofs,
                "n_elements": len(self.discretisation.triangles),
                **self.further_info,
                **{name: value for name, value in values.items() if name not in names},
                **{f"seconds_{stage}": value for stage, value in self.seconds.items()},
            },
            fibre_radii=radii if len(set(radii.tolist())) > 1 else None,
        )
