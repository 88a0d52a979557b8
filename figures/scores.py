"""Numbers of repeated trainings: their spread, paired comparisons, and the metrics file."""

import dataclasses
import json
import math
import operator
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
    """One number over repeated trainings."""

    values: tuple[float, ...]  # one per repeat
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
        count = len(self.values)
        if self.std is None:
            return None
        return float(t.ppf(0.5 + 0.5 * CONFIDENCE, count - 1) * (self.std / np.sqrt(count)))

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
        return type(self)(tuple(map(operator.sub, self.values, other.values)))

    def __abs__(self) -> "Spread":
        return type(self)(tuple(map(abs, self.values)))

    def as_json(self) -> dict[str, Any]:
        """What the metrics file holds: mean, scatter and the values themselves."""
        return {"mean": self.mean, self.width: getattr(self, self.width), "values": self.values}


class Interval(Spread):
    """The same with the interval of the mean, instead of the standard deviation, in the file."""

    width: ClassVar[str] = "half_width"


def seeds_of(seed: int, repeats: int) -> list[int]:
    """Independent seeds of the repeated trainings."""
    return [int(s) for s in np.random.SeedSequence(seed).generate_state(repeats)]


def over_repeats(repeats: Sequence[Any], kind: type[Spread] = Spread) -> Any:
    """The spread of every number in equally nested mappings, of which later ones may lack a key."""
    if not isinstance(repeats[0], Mapping):
        return kind(tuple(map(float, repeats)))
    columns = {key: [each[key] for each in repeats if key in each] for key in repeats[0]}
    return {key: over_repeats(values, kind) for key, values in columns.items()}


def is_below(first: Spread, second: Spread) -> bool | None:
    """Whether the first of two numbers is smaller; None where the paired repeats leave it open."""
    sign = (second - first).sign
    return sign > 0 if sign else None


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
    """Write a metrics file; ValueError names the first value that is not finite."""
    plain = _plain(content, path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plain, indent=1, allow_nan=False) + "\n")


def _plain(content: Any, place: str) -> Any:
    """Content as mappings, lists and scalars."""
    if isinstance(content, Spread):
        content = content.as_json()
    elif dataclasses.is_dataclass(content) and not isinstance(content, type):
        content = vars(content)
    if isinstance(content, Mapping):
        return {key: _plain(value, f"{place}: {key}") for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value, f"{place}[{index}]") for index, value in enumerate(content)]
    if isinstance(content, float) and not math.isfinite(content):
        raise ValueError(f"{place} = {content} is not finite")
    return content
