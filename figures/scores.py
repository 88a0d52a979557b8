"""Numbers of repeated trainings: their spread, paired comparisons, and the metrics file."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.stats import t

LARGER_IS_BETTER = ("elppd",)  # of the scores, every other one is better when smaller
CONFIDENCE = 0.95  # of intervals, and that a comparison has the sign that is reported


@dataclass(frozen=True)
class Spread:
    """One number over repeated trainings.

    Attributes:
        values: One per repeat.
    """

    values: tuple[float, ...]
    width: ClassVar[str] = "std"  # the measure of scatter that the metrics file holds

    @property
    def mean(self) -> float:
        """Mean over the repeats."""
        return float(np.mean(self.values))

    @property
    def std(self) -> float | None:
        """Standard deviation with divisor n-1; None for a single repeat."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval of the mean; None for a single repeat."""
        count, deviation = len(self.values), self.std
        if deviation is None:
            return None
        return float(t.ppf(0.5 + 0.5 * CONFIDENCE, count - 1) * (deviation / np.sqrt(count)))

    @property
    def margin(self) -> float:
        """The half width, zero for a single repeat."""
        return self.half_width or 0.0

    @property
    def sign(self) -> int:
        """1 or -1 where the interval excludes zero, else 0; a single repeat decides."""
        return 0 if abs(self.mean) <= self.margin else int(np.sign(self.mean))

    def __sub__(self, other: "Spread") -> "Spread":
        """Paired differences, over the repeats that both have."""
        pairs = zip(self.values, other.values, strict=False)
        return type(self)(tuple(a - b for a, b in pairs))

    def __abs__(self) -> "Spread":
        return type(self)(tuple(map(abs, self.values)))

    def as_json(self) -> dict[str, Any]:
        """What the metrics file holds: mean, scatter and the values themselves."""
        return {"mean": self.mean, self.width: getattr(self, self.width), "values": self.values}


class Interval(Spread):
    """The same with the interval of the mean, instead of the standard deviation, in the file."""

    width: ClassVar[str] = "half_width"


def over_repeats(repeats: Sequence[Any], kind: type[Spread] = Spread) -> Any:
    """The spread of every number in equally nested mappings.

    Args:
        repeats: One mapping of numbers, or of mappings, per repeat; later repeats may lack a key.
        kind: Of the spreads.

    Returns:
        The mapping of the first repeat with a spread in place of each number.
    """
    if not isinstance(repeats[0], Mapping):
        return kind(tuple(map(float, repeats)))
    return {
        key: over_repeats([each[key] for each in repeats if key in each], kind)
        for key in repeats[0]
    }


def is_below(first: Spread, second: Spread) -> bool | None:
    """Whether the first of two numbers is smaller; None where the paired repeats leave it open."""
    return {1: True, -1: False, 0: None}[(second - first).sign]


def is_better(first: Spread, second: Spread, score: str) -> bool | None:
    """Whether the first of two methods has the better score; None where repeats leave it open."""
    return is_below(second, first) if score in LARGER_IS_BETTER else is_below(first, second)


def all_hold(answers: Iterable[bool | None]) -> bool | None:
    """True when all answers are, False when one is, else None."""
    found = set(answers)
    return False if False in found else None if None in found else True


def read_intervals(content: Any) -> Any:
    """The content of a metrics file with an interval in place of each mapping that states one."""
    if not isinstance(content, Mapping):
        return content
    if "values" in content:
        return Interval(tuple(content["values"]))
    return {key: read_intervals(value) for key, value in content.items()}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a metrics file; values that are not finite are refused.

    Raises:
        ValueError: naming the first value that is not finite.
    """
    plain = _plain(content, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain, indent=1, allow_nan=False) + "\n")


def _plain(content: Any, place: str) -> Any:
    """Content as mappings, lists and scalars."""
    if isinstance(content, Spread):
        content = content.as_json()
    elif dataclasses.is_dataclass(content) and not isinstance(content, type):
        content = {f.name: getattr(content, f.name) for f in dataclasses.fields(content)}
    if isinstance(content, Mapping):
        return {key: _plain(value, f"{place}: {key}") for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value, f"{place}[{index}]") for index, value in enumerate(content)]
    if isinstance(content, float) and not math.isfinite(content):
        raise ValueError(f"{place} = {content} is not finite")
    return content
