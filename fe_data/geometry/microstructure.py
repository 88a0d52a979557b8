"""Periodic microstructures of circular fibres, given or random."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fe_data.arrays import Booleans, Floats, number, numbers
from fe_data.errors import MicrostructureError
from fe_data.geometry.packing import (
    Distance,
    equilibrated,
    relaxed_microstructure,
    sequential_addition,
)
from fe_data.geometry.spacing import (
    advice_of_spacing,
    largest_volume_fraction,
    require_packable,
    spacing_of,
)
from fe_data.schema import BOUNDS, COUNTS
from fe_data.settings import (
    MAX_SEED,
    Settings,
    in_percent,
    require_between,
    require_integer,
    require_kind,
)
from fe_data.settings.radii import RADII_LAWS, RadiiName
from safe_files.text import Short

# Random sequential addition jams when discs of exclusion cover 0.547 ± 0.15/√n of the square. At
# one standard deviation above the mean every sixth sequence places all n fibres.
_SATURATION = 0.547
_SATURATION_SPREAD = 0.15
_RSA_STARTS = 20
CENTRES = (-0.5, 1.5)  # range of given centres, which may be periodic images outside [0, 1]
_SAME = 1e-3  # in radii; two centres closer than this are one fibre that is listed twice
FIBRES = "fibres"  # default phase of a fibre
VOID = "void"  # phase of a hole in the mesh
IMAGES = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])  # periodic shifts
VF_TOLERANCE = 1e-3  # largest difference between an input vf and the given fibres
_THINNEST_RING = 1e-3  # in mean fibre radii; thinner ones need more than 4,000 elements per fibre


@dataclass(frozen=True, repr=False)
class Microstructure(Short):
    """Circular fibres in the unit square or a rectangle, periodic in x and y.

    Attributes:
        centres: (n, 2) centres relative to the side of the square, from -0.5 to 1.5; they are
            stored modulo 1. In a rectangle all lengths are relative to the width, and y is stored
            modulo the height.
        radii: (n,) radii relative to the side of the square, or one number for all fibres.
        phases: Phase of each fibre, or one phase for all: "fibres", "void" (a hole in the mesh), or
            a key of `Phases.others`. Phases other than "fibres" need the general solver.
        height: Height of the rectangle relative to its width; 1 is the square. Other heights need
            the general solver.
        interphase: Thickness of a ring around each fibre, in the unit of the radii. The ring has
            the phase "interphase", a key of `Phases.others`, and needs the general solver. Voids
            have no ring.
        E_GPa: (n,) Young's modulus of each fibre [GPa], NaN for the modulus of its phase. None uses
            the moduli of the phases. It needs the general solver.

    Raises:
        ValueError: If shapes do not match, a number is not finite or out of range, or two fibres
            overlap.

    Examples:
        >>> two_radii = Microstructure([[0.3, 0.3], [0.75, 0.7]], [0.2, 0.1])
        >>> round(two_radii.volume_fraction, 4)
        0.1571
        >>> porous = Microstructure(two_radii.centres, two_radii.radii, ["fibres", "void"])
        >>> round(porous.volume_fraction, 4), round(porous.porosity, 4)
        (0.1257, 0.0314)
    """

    centres: Floats
    radii: Floats
    phases: Sequence[str] = FIBRES
    height: float = 1.0
    interphase: float = 0.0
    E_GPa: Floats | None = None

    def __post_init__(self) -> None:
        height = require_between("height", self.height, *BOUNDS["height"], unit=" widths")
        object.__setattr__(self, "height", height)
        centres = numbers("centres", self.centres)
        radii = numbers("radii", self.radii)
        if centres.ndim != 2 or centres.shape[1] != 2 or not np.all(np.isfinite(centres)):
            raise ValueError(f"centres of shape {centres.shape} must be (n, 2) finite numbers")
        n = len(centres)
        if radii.shape not in ((), (n,)):
            raise ValueError(
                f"radii {radii.shape} must be one number or one for each of {n} centres"
            )
        _require_in_sides(centres, height)
        object.__setattr__(self, "centres", np.mod(centres, [1.0, height]))
        object.__setattr__(self, "radii", np.broadcast_to(radii, n))
        for fibre, radius in enumerate(self.radii.tolist()):
            require_between(
                f"radii[{fibre}]", radius, *BOUNDS["radii"], unit=" sides of the square"
            )
        require_kind("phases", self.phases, str, list, tuple)
        phases = (self.phases,) * n if isinstance(self.phases, str) else tuple(self.phases)
        for phase in phases:
            require_kind("phases", phase, str)
        if len(phases) != n:
            raise ValueError(f"phases has {len(phases)} names for {n} fibres")
        object.__setattr__(self, "phases", phases)
        ring = require_between("interphase", self.interphase, *BOUNDS["interphase"])
        object.__setattr__(self, "interphase", ring)
        self._require_apart(centres)
        if self.E_GPa is not None:
            self._take_moduli(numbers("E_GPa", self.E_GPa))

    def _take_moduli(self, moduli: Floats) -> None:
        """Check and store the modulus of each fibre."""
        if moduli.shape != self.radii.shape:
            raise ValueError(f"E_GPa of shape {moduli.shape} must be {self.radii.shape}")
        for fibre in np.flatnonzero(~np.isnan(moduli)):
            require_between(f"E_GPa[{fibre}]", float(moduli[fibre]), *BOUNDS["E_m_GPa"])
            if self.is_void[fibre]:
                raise ValueError(f"E_GPa[{fibre}] = {moduli[fibre]:g} must be NaN for a void")
        object.__setattr__(self, "E_GPa", moduli)

    def _require_apart(self, centres: Floats) -> None:
        """Raise a ValueError if fibres overlap; `centres` are as passed by the user."""
        radii = self.outer_radii
        distance = self.distances
        overlap = radii[:, None] + radii - distance
        if overlap.max(initial=-1.0) < 0.0:
            return
        i, j = (int(k) for k in np.unravel_index(overlap.argmax(), overlap.shape))
        pair = self.pair(i, j) + (" with their interphase" if self.interphase else "")
        if i == j:
            size = f"radius {radii[i]:.6g}, height {self.height:g}"
            raise ValueError(f"{pair} overlap: {size}")
        kinds = ["void" if void else "fibre" for void in self.is_void]
        if distance[i, j] < _SAME * radii[i]:
            x, y = centres[i]
            u, v = centres[j]
            what = f"have one centre, at ({x:g}, {y:g}) and ({u:g}, {v:g})"
            if kinds[i] == kinds[j]:
                what = f"are one {kinds[i]} listed twice, at ({x:g}, {y:g}) and ({u:g}, {v:g})"
            raise ValueError(f"{pair} {what}: give each one once, without its periodic images")
        apart = f"centres {distance[i, j]:.6g} apart, radii {radii[i]:.6g} and {radii[j]:.6g}"
        # Shift from fibre j to its image nearest to fibre i; zero if this is fibre j itself.
        period = [1.0, self.height]
        shift = np.round((centres[i] - centres[j]) / period) * period
        if not shift.any():
            raise ValueError(f"{pair} overlap: {apart}")
        x, y = centres[j] + shift
        raise ValueError(
            f"{pair} overlap across the edge of the periodic RVE, where {kinds[j]} {j} comes "
            f"back at ({x:g}, {y:g}): {apart}"
        )

    def pair(self, i: int, j: int) -> str:
        """Name two inclusions for a message, or one and its periodic image.

        Args:
            i: Index of an inclusion.
            j: Index of another one, or the same for its periodic image.

        Returns:
            The names.

        >>> Microstructure([[0.2, 0.5], [0.7, 0.5]], 0.1, ["fibres", "void"]).pair(0, 1)
        'fibre 0 and void 1'
        """
        first, second = ("void" if self.is_void[k] else "fibre" for k in (i, j))
        if i == j:
            return f"{first} {i} and its periodic image"
        return f"{first}s {i} and {j}" if first == second else f"{first} {i} and {second} {j}"

    @property
    def volume_fraction(self) -> float:
        """Area fraction of the fibres, without voids [-]."""
        return float(math.pi * (self.radii[~self.is_void] ** 2).sum()) / self.height

    @property
    def porosity(self) -> float:
        """Area fraction of the voids [-]."""
        return float(math.pi * (self.radii[self.is_void] ** 2).sum()) / self.height

    @property
    def outer_radii(self) -> Floats:
        """Radii (n,) of the fibres with their interphase."""
        return np.where(self.is_void, self.radii, self.radii + self.interphase)

    @property
    def fibre_radius(self) -> float:
        """Mean radius of the fibres, without other phases.

        If no inclusion has the phase `fibres`, it is that of all phases, or else of the voids.
        """
        is_fibre = np.array([phase == FIBRES for phase in self.phases], bool)
        for chosen in (is_fibre, ~self.is_void):
            if chosen.any():
                return float(self.radii[chosen].mean())
        return float(self.radii.mean())

    @property
    def is_void(self) -> Booleans:
        """Mask (n,) of the fibres that are voids."""
        return np.array([phase == VOID for phase in self.phases], dtype=bool)

    @property
    def distances(self) -> Floats:
        """Distances (n, n) of the centres; a centre from its nearest periodic image."""
        distances = periodic_distances(self.centres, self.centres, self.height)
        np.fill_diagonal(distances, min(1.0, self.height))
        return distances

    @property
    def nearest_distances(self) -> Floats:
        """Distance (n,) of each centre from the nearest centre, in sums of both radii [-]."""
        return np.asarray((self.distances / (self.radii[:, None] + self.radii)).min(axis=1))

    @property
    def kinds(self) -> list[tuple[str, float | None]]:
        """Phase of each fibre, and its separate modulus [GPa] or None."""
        if self.E_GPa is None:
            return [(phase, None) for phase in self.phases]
        moduli = [None if math.isnan(E) else E for E in self.E_GPa.tolist()]
        return list(zip(self.phases, moduli, strict=True))

    def coated(self, thickness: float) -> "Microstructure":
        """Return the microstructure with an interphase around the fibres.

        Args:
            thickness: Thickness of the ring, in mean radii of the fibres [-].

        Returns:
            The microstructure; unchanged if the thickness is zero or there are no fibres.

        Raises:
            ValueError: If rings overlap, or are too thin to mesh in reasonable time.

        >>> one = Microstructure([[0.5, 0.5]], 0.2)
        >>> round(one.coated(0.1).interphase, 6)
        0.02
        """
        if not thickness or self.is_void.all():
            return self
        require_thick(thickness)
        return dataclasses.replace(self, interphase=thickness * self.fibre_radius)

    def require_one_phase(self) -> None:
        """Raise a ValueError if the microstructure needs the general solver."""
        others = [
            f"the phase {phase!r:.60} in place of fibre {fibre}"
            for fibre, phase in enumerate(self.phases)
            if phase != FIBRES
        ]
        if self.E_GPa is not None:
            others.append("E_GPa of each fibre")
        if self.interphase:
            others.append(f"an interphase of {self.interphase:g}")
        if self.height != 1.0:
            others.append(f"the height {self.height:g}")
        if others:
            raise ValueError(
                f"microstructure has {others[0]}, which needs a material: use --material or "
                "solve_composite"
            )


def require_thick(interphase: float) -> None:
    """Raise a ValueError if a ring, in mean fibre radii, is too thin to mesh."""
    if 0 < interphase < _THINNEST_RING:
        raise ValueError(
            f"interphase = {interphase:g} is too thin to mesh: give 0, or at least "
            f"{_THINNEST_RING:g} mean fibre radii"
        )


def _require_in_sides(centres: Floats, height: float) -> None:
    """Raise a ValueError for centres far outside the RVE, which are probably in another unit."""
    low, high = CENTRES
    shares = centres / [1.0, height]
    outside = np.flatnonzero(((shares < low) | (shares > high)).any(axis=1))
    if outside.size:
        width = np.ptp(shares, axis=0).max() if len(shares) > 1 else np.abs(shares).max()
        x, y = centres[outside[0]]
        allowed, side = f"[{low:g}, {high:g}] sides of the square", "side"
        if height != 1.0:
            of_y = f"[{low * height:g}, {high * height:g}] for y"
            allowed, side = f"[{low:g}, {high:g}] widths of the RVE for x and {of_y}", "width"
        raise ValueError(
            f"centres[{outside[0]}] = ({x:g}, {y:g}) is out of range: allowed is {allowed}. "
            "If centres and radii are in another unit, divide both by the "
            f"{side}, which is then about {width:.3g}"
        )


def periodic_distances(a: Floats, b: Floats, height: float = 1.0) -> Floats:
    """Return the distances between points and the nearest periodic images of other points.

    Args:
        a: (n, 2) points.
        b: (m, 2) points.
        height: Period along y; the period along x is 1.

    Returns:
        The distances (n, m).

    >>> periodic_distances(np.array([[0.1, 0.5]]), np.array([[0.9, 0.5]])).round(6)
    array([[0.2]])
    """
    d = a[:, None, :] - b[None, :, :]
    period = np.array([1.0, height])
    d -= np.round(d / period) * period
    return np.asarray(np.hypot(d[..., 0], d[..., 1]))


def random_microstructure(
    vf: float,
    seed: int,
    n_fibres: int = 30,
    min_spacing: float | None = None,
    radii: RadiiName = "equal",
    radii_cov: float = 0.0,
    void_fraction: float = 0.0,
    void_radius: float = 1.0,
) -> Microstructure:
    """Place fibres, and optionally voids, periodically at random.

    Args:
        vf: Volume fraction of the fibres [-], which the result has exactly.
        seed: Seed of the random numbers.
        n_fibres: Number of fibres.
        min_spacing: Least distance of two fibre centres, in sums of their radii [-]; None for the
            default of `spacing_of`.
        radii: Distribution of the radii, a key of `settings.radii.RADII_LAWS`.
        radii_cov: Coefficient of variation of the radii [-].
        void_fraction: Area fraction of round voids between the fibres [-], which the result has
            exactly.
        void_radius: Radius of the voids, in mean radii of the fibres [-]. The radius is adjusted so
            that a whole number of voids has the area fraction.

    Returns:
        The microstructure.

    Raises:
        ValueError: If a number is out of range.

    If no microstructure is found, a `MicrostructureError` is raised.

    Examples:
        >>> from fe_data import random_microstructure
        >>> micro = random_microstructure(0.3, seed=1)
        >>> micro.centres.shape
        (30, 2)
        >>> round(micro.volume_fraction, 12)
        0.3
        >>> several = random_microstructure(0.3, seed=1, radii="lognormal", radii_cov=0.3)
        >>> bool(several.radii.max() > 2 * several.radii.min())
        True
    """
    low, high = BOUNDS["void_fraction"]
    hint = in_percent(number("void_fraction", void_fraction), high, "it is a fraction")
    require_between("void_fraction", void_fraction, low, high, unit=hint)
    require_between("void_radius", void_radius, *BOUNDS["void_radius"])
    # This checks the arguments.
    Settings(n_fibres=n_fibres, min_spacing=min_spacing, radii=radii, radii_cov=radii_cov)
    seed = require_integer("seed", seed, 0, MAX_SEED)
    number("vf", vf)
    require_packable(vf, n_fibres, min_spacing)
    require_between("vf", vf, 0.0, 1.0)
    if vf == 0.0:
        if void_fraction:
            raise ValueError("void_fraction needs fibres, but vf = 0")
        return Microstructure(np.empty((0, 2)), np.empty(0))
    # Voids take room like fibres.
    if min_spacing is None:
        min_spacing = spacing_of(None, vf + void_fraction, n_fibres)
    rng = np.random.default_rng(seed)
    r, distance = _radii_and_distances(rng, vf, n_fibres, min_spacing, radii, radii_cov)
    phases = [FIBRES] * n_fibres
    if void_fraction:
        r, phases = _with_voids(r, void_fraction, void_radius, min_spacing)
        distance = min_spacing * (r[:, None] + r)
    _require_meshable(r)
    # With several sizes all starts are tried, because small fibres find room when equal ones jam.
    limit = _SATURATION + _SATURATION_SPREAD / math.sqrt(n_fibres)
    saturated = isinstance(distance, float) and vf * min_spacing**2 > limit
    centres = _placed(rng, len(r), distance, starts=1 if saturated else _RSA_STARTS)
    # A fibre that nearly touches an edge or a corner would cause sliver elements.
    return clear_of_edges(Microstructure(centres, r, phases), math.inf)


def _placed(rng: np.random.Generator, n: int, distance: Distance, starts: int) -> Floats:
    """Place n centres, (n, 2), at random: one by one or, if all sequences jam, by relaxation."""
    # A sequence that jams is repeated with new random numbers, so results are distributed like
    # sequences that do not jam. If all jam, random centres are pushed apart until all pairs keep
    # their distance, then moved until they touch as rarely as fibres that are added one by one.
    for _ in range(starts):
        centres = sequential_addition(rng, n, distance)
        if centres is not None:
            return centres
    touching = relaxed_microstructure(rng, n, distance)
    return equilibrated(rng, touching, distance)


def _require_meshable(radii: Floats) -> None:
    """Raise a MicrostructureError if a radius is too small for a mesh."""
    if radii.min() < (smallest := BOUNDS["radii"][0]):
        raise MicrostructureError(
            f"the smallest of {len(radii)} inclusions has the radius {radii.min():.2g}: must be at "
            f"least {smallest:g} of the side"
        )


def _with_voids(
    radii: Floats, fraction: float, radius: float, min_spacing: float
) -> tuple[Floats, list[str]]:
    """Return the radii of fibres and voids, largest first, and their phases."""
    n_fibres = len(radii)
    wanted = radius * float(radii.mean())
    n = max(1, round(fraction / (math.pi * wanted**2)))
    largest = COUNTS["n_fibres"][1]
    if n_fibres + n > largest:
        raise ValueError(
            f"void_radius = {radius!r} is out of range: it needs {n} voids, and fibres and voids "
            f"are limited to {largest}"
        )
    vf = math.pi * float((radii**2).sum())
    limit = largest_volume_fraction(n_fibres + n, min_spacing)
    if vf + fraction > limit:
        raise ValueError(
            f"void_fraction = {fraction!r} is out of range: {n_fibres} fibres and {n} voids at "
            f"least {min_spacing:g} diameters apart are limited to vf + void_fraction <= "
            f"{limit:.4f}{advice_of_spacing(vf + fraction, n_fibres + n)}"
        )
    together = np.concatenate([radii, np.full(n, math.sqrt(fraction / (math.pi * n)))])
    order = np.argsort(-together, kind="stable")
    return together[order], [FIBRES if k < n_fibres else VOID for k in order.tolist()]


def _radii_and_distances(
    rng: np.random.Generator,
    vf: float,
    n: int,
    min_spacing: float,
    law: RadiiName,
    cov: float,
) -> tuple[Floats, Distance]:
    """Return radii (n,), largest first, and least distances (n, n), one if fibres are equal."""
    if law == "equal":
        radius = math.sqrt(vf / (n * math.pi))
        return np.full(n, radius), 2 * radius * min_spacing
    # r_i = s ξ_i with s from the volume fraction, π Σ r_i² = vf
    drawn = np.sort(RADII_LAWS[law].draw(rng, n, cov))[::-1]
    radii = drawn * math.sqrt(vf / (math.pi * (drawn**2).sum()))
    return radii, min_spacing * (radii[:, None] + radii)


def clear_of_edges(m: Microstructure, least: float = 0.3) -> Microstructure:
    """Translate fibres if an outline nearly touches an edge or a corner of the square.

    Args:
        m: Microstructure.
        least: Sufficient clearance of the outlines from edges and corners, in largest radii.

    Returns:
        The microstructure itself if it has this clearance, otherwise the translation with the
        largest clearance that was found.

    >>> grazing = Microstructure([[0.201, 0.5]], 0.2)
    >>> clear_of_edges(grazing).centres
    array([[0.5, 0.5]])
    """
    # An edge at an offset x_i ± r_i (in periods) touches an outline. Candidates for the new edges
    # are the middles of the widest gaps between these offsets, in x and in y.
    if not len(m.centres):
        return m
    period = np.array([1.0, m.height])
    centres = m.centres
    radii = m.radii
    if m.interphase:  # its outer outlines count too
        centres = np.concatenate([centres, centres])
        radii = np.concatenate([radii, m.outer_radii])
    offsets = np.concatenate([centres - radii[:, None], centres + radii[:, None]]) / period

    def from_corner(x: float, y: float) -> float:
        """Return the distance of the nearest outline from a corner at (x, y)."""
        corner = np.array([[x, y]])
        return float(np.abs(periodic_distances(corner, centres, m.height) - radii).min())

    from_edge = float((np.abs(offsets - np.round(offsets)) * period).min())
    clearance = min(from_edge, from_corner(0.0, 0.0))
    if clearance >= least * radii.max():
        return m
    along_x, along_y = (_widest_gaps(tangents) for tangents in (offsets % 1.0).T)
    points = []
    for x, half_x in along_x:
        for share, half_share in along_y:
            y, half_y = share * m.height, half_share * m.height
            points.append((min(half_x, half_y, from_corner(x, y)), x, y))
    best_clearance, x, y = max(points)
    if best_clearance <= clearance * (1 + 1e-9):  # no improvement
        return m
    return dataclasses.replace(m, centres=(m.centres - np.array([x, y])) % period)


def _widest_gaps(tangents: Floats) -> list[tuple[float, float]]:
    """Return middle and half width of the eight widest gaps of points on a circle of length 1."""
    tangents = np.sort(tangents)
    gaps = np.diff(np.append(tangents, tangents[0] + 1.0))
    widest = np.argsort(-gaps, kind="stable")[:8]
    return [(tangents[i] + gaps[i] / 2, gaps[i] / 2) for i in widest]
