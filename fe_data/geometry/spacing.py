"""Least distances of random fibres, and the volume fractions that they allow."""

import math

from fe_data.schema import BOUNDS
from fe_data.settings import in_percent

# Pairs of the largest number of fibres, and the densest packing of discs of exclusion (diameter =
# least distance of centres) that relaxation reached from every random start that was tried, or
# above which discs freeze. One or two fibres are limited only by their periodic images.
_DENSEST_PACKING = ((2, 0.78), (3, 0.62), (15, 0.70), (math.inf, 0.72))
# Discs that cover about 0.7 freeze. In a square RVE all crystals then have similar directions, so
# that means over microstructures are anisotropic. By default the spacing falls from SPACING to
# _LEAST_SPACING, so that discs of exclusion cover at most _LIQUID.
_LIQUID = 0.64
SPACING = 1.14  # of the paper
_LEAST_SPACING = 1.02
SPARSE = 0.42  # up to this volume fraction fibres are added one by one, with this spacing


def hexagonal_distance(vf: float) -> float:
    """Return the distance of nearest centres in a hexagonal array of equal fibres.

    Args:
        vf: Volume fraction of the fibres [-].

    Returns:
        The distance, in fibre diameters [-].

    >>> round(hexagonal_distance(0.6), 3)
    1.229
    """
    # vf = π r² / (d² √3/2), with the distance d between the centres
    return math.sqrt(math.pi / (2 * math.sqrt(3) * vf))


def _densest(n_fibres: int) -> float:
    """Return the largest area fraction of discs of exclusion."""
    return next(packing for largest, packing in _DENSEST_PACKING if n_fibres <= largest)


def _liquid(n_fibres: int) -> float:
    """Return the largest area fraction of discs of exclusion that do not freeze."""
    return min(_LIQUID, _densest(n_fibres) - 0.02)


def spacing_of(min_spacing: float | None, vf: float, n_fibres: int) -> float:
    """Return the least distance of random fibres, in fibre diameters.

    Args:
        min_spacing: The distance [-]; None for the default, which falls with the volume fraction.
        vf: Volume fraction of fibres and voids [-].
        n_fibres: Number of fibres and voids.

    Returns:
        The distance [-].

    >>> [round(spacing_of(None, vf, 30), 3) for vf in (0.4, 0.55, 0.6)]
    [1.14, 1.079, 1.033]
    """
    if min_spacing is not None:
        return min_spacing
    liquid = _liquid(n_fibres)
    return min(SPACING, max(_LEAST_SPACING, math.sqrt(liquid / max(vf, liquid / 4))))


def largest_volume_fraction(n_fibres: int, min_spacing: float | None) -> float:
    """Return the largest fibre volume fraction for which random microstructures are generated.

    Args:
        n_fibres: Number of fibres.
        min_spacing: Least distance of two fibre centres, in fibre diameters [-]; None for the
            default, see `spacing_of`.

    Returns:
        The volume fraction [-].

    >>> round(largest_volume_fraction(30, 1.14), 3), round(largest_volume_fraction(30, None), 3)
    (0.554, 0.615)
    """
    if min_spacing is None:
        return _liquid(n_fibres) / _LEAST_SPACING**2
    # Only one fibre reaches the largest radius.
    thickest = n_fibres * math.pi * BOUNDS["radii"][1] ** 2
    return min(_densest(n_fibres) / min_spacing**2, thickest)


def require_packable(vf: float, n_fibres: int, min_spacing: float | None) -> None:
    """Raise a ValueError with the limit if vf exceeds `largest_volume_fraction`."""
    limit = largest_volume_fraction(n_fibres, min_spacing)
    if vf > limit:
        fibres, are = ("1 fibre", "is") if n_fibres == 1 else (f"{n_fibres} fibres", "are")
        spacing = (
            "with the default spacing, which keeps fibres in disorder,"
            if min_spacing is None
            else f"at least {min_spacing:g} diameters apart"
        )
        raise ValueError(
            f"vf = {vf!r} is out of range: {fibres} {spacing} {are} limited to vf <= "
            f"{math.floor(1e4 * limit) / 1e4:.4f}"
            f"{in_percent(vf, 1.0, 'vf is a fraction')}{advice_of_spacing(vf, n_fibres)}"
        )


def advice_of_spacing(vf: float, n_fibres: int) -> str:
    """Return advice for a message: the largest spacing at which a volume fraction fits, if any."""
    # vf = packing / spacing², rounded down to three decimals
    spacing = math.floor(1e3 * math.sqrt(_densest(n_fibres) / vf)) / 1e3
    least = BOUNDS["min_spacing"][0]
    if spacing < least or vf > largest_volume_fraction(n_fibres, least):
        return ""
    return f"; for this one give a min_spacing (option --min-spacing) of at most {spacing:g}"
