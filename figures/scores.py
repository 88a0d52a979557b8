"""Numbers over repeated trainings: their scatter, paired comparisons, and metrics files."""

import dataclasses
import functools
import json
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.stats import t

from figures.pipeline.clean import note
from safe_files.writing import write_atomic

LARGER_IS_BETTER = ("elppd",)  # of the scores; all others are better when smaller
CONFIDENCE = 0.95  # level of intervals, and of the sign of a comparison
BEGINNING = rb'\{\n "'  # first bytes of a metrics file
NEGLIGIBLE = 0.1  # fraction of a number below which a difference from it is negligible


@functools.cache
def student_factor(freedom: float) -> float:
    """Return a 95 % confidence half-width by Student's t, in standard errors."""
    return float(t.ppf(0.5 + 0.5 * CONFIDENCE, freedom))


@dataclass(frozen=True)
class Interval:
    """One number over repeated trainings, with the interval of its mean."""

    values: tuple[float, ...]  # one per repeat

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
        """95 % confidence half-width of the mean; None for a single repeat."""
        count = len(self.values)
        if self.std is None:
            return None
        return float(student_factor(count - 1) * (self.std / np.sqrt(count)))

    @property
    def margin(self) -> float:
        """The half width, zero for a single repeat."""
        return self.half_width or 0.0

    @property
    def sign(self) -> int:
        """1 or -1 if the interval excludes zero, else 0; for a single repeat the sign of it."""
        return 0 if abs(self.mean) <= self.margin else int(np.sign(self.mean))

    def __sub__(self, other: "Interval") -> "Interval":
        """Return the paired differences, over the repeats that both have."""
        return Interval(tuple(map(operator.sub, self.values, other.values)))

    def __abs__(self) -> "Interval":
        return Interval(tuple(map(abs, self.values)))


Number = TypeVar("Number", float, Interval)  # of one training, or over repeated ones


@dataclass(frozen=True)
class Scores(Generic[Number]):
    """Scores of a method on test RVEs."""

    rmse: Number  # scaled
    miscalibration: Number  # area between the calibration curve and the diagonal
    elppd: Number  # expected log pointwise predictive density, sum over the test RVEs
    coverage: Number  # share of the observations within the predicted interval

    def is_better(self, other: "Scores[Interval]", score: str) -> bool | None:
        """Return whether a score is better than that of another method; None if undecided."""
        first = getattr(self, score)
        second = getattr(other, score)
        return is_below(second, first) if score in LARGER_IS_BETTER else is_below(first, second)


def over_repeats(repeats: Sequence[Any]) -> Any:
    """Combine repeated mappings or dataclasses of numbers into one of intervals.

    Later repeats may lack a key. An interval counts with its mean, so repeats may themselves be
    means over repeats.
    """
    first = repeats[0]
    if isinstance(first, Interval):
        return Interval(tuple(interval.mean for interval in repeats))
    if isinstance(first, Mapping):
        columns = {key: [numbers[key] for numbers in repeats if key in numbers] for key in first}
        return {key: over_repeats(values) for key, values in columns.items()}
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return type(first)(**over_repeats([vars(numbers) for numbers in repeats]))
    return None if first is None else Interval(tuple(map(float, repeats)))


def written(number: Any, decimals: int) -> str:
    """Format a number with its scatter, if it has one, and with true minus signs."""
    parts = [number]
    if isinstance(number, Interval):
        parts = [number.mean, number.half_width]
    elif isinstance(number, Mapping):  # number in a metrics file
        parts = [number["mean"], number.get("half_width", number.get("std"))]
    texts = [f"{value:.{decimals}f}" for value in parts if value is not None]
    return " ± ".join(texts).replace("-", "−")


def as_interval(number: Any) -> Interval:
    """Return a number of a metrics file as an interval."""
    return Interval(tuple(number["values"]) if isinstance(number, Mapping) else (number,))


def less(number: Interval, value: float) -> Interval:
    """Return a number minus a fixed value."""
    return Interval(tuple(repeat - value for repeat in number.values))


def is_below(first: Interval, second: Interval) -> bool | None:
    """Return whether the first of two numbers is smaller; None if the repeats do not decide."""
    sign = (second - first).sign
    return sign > 0 if sign else None


def is_below_clearly(first: Interval, second: Interval) -> bool | None:
    """Return whether the first of two positive numbers is smaller by a relevant amount.

    If the sign of the paired difference is undecided, an equivalence test follows: the answer is
    False if the whole interval of the difference lies within ± NEGLIGIBLE times the second number,
    and otherwise None.
    """
    answer = is_below(first, second)
    if answer is None and is_within(second - first, NEGLIGIBLE * abs(second.mean)):
        return False
    return answer


def is_within(number: Interval, limit: float) -> bool | None:
    """Return whether a number lies within ± limit; None if its interval contains a limit."""
    size = abs(number.mean)
    if size + number.margin < limit:
        return True
    return False if size - number.margin > limit else None


def all_hold(answers: Iterable[bool | None]) -> bool | None:
    """Return True if all answers are True, False if one is False, and otherwise None."""
    outcomes = set(answers)
    return False if False in outcomes else None if None in outcomes else True


def write_json(path: Path, content: Mapping[str, Any], scatter: str = "std") -> None:
    """Write a metrics file.

    An interval is written as its mean, its values and a measure of their scatter, "std" or
    "half_width". A field whose default is None is left out if it is None. An earlier metrics file
    is replaced.

    Raises:
        ValueError: If a value is not finite; the message has its place.
        FileExistsError: If the file exists and is not a metrics file.
    """
    plain = _plain(content, path.name, scatter)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plain, indent=1, allow_nan=False) + "\n"
    write_atomic(path, text.encode(), BEGINNING)
    note(path)


def _plain(content: Any, place: str, scatter: str) -> Any:
    """Convert content to mappings, lists and scalars."""
    if isinstance(content, Interval):
        content = {name: getattr(content, name) for name in ("mean", scatter, "values")}
    elif dataclasses.is_dataclass(content) and not isinstance(content, type):
        values = [(field, getattr(content, field.name)) for field in dataclasses.fields(content)]
        content = {f.name: v for f, v in values if v is not None or f.default is not None}
    if isinstance(content, Mapping):
        return {key: _plain(value, f"{place}: {key}", scatter) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value, f"{place}[{i}]", scatter) for i, value in enumerate(content)]
    if isinstance(content, float) and not math.isfinite(content):
        raise ValueError(f"{place} = {content} is not finite")
    return content
