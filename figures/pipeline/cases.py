"""Training sets of a profile, and what they need of its datasets."""

from collections.abc import Mapping
from dataclasses import dataclass

from figures.pipeline.profile_fields import (
    ProfileError,
    fields_of,
    require_integer,
    require_mapping,
    shown,
)

DESIGNS = ("test_uniform", "train_uniform", "train_beta", "replicates", "noise")
TEST = "test_uniform"  # what every training set is judged on


@dataclass(frozen=True)
class Case:
    """One training set: the first inputs of a design."""

    design: str
    count: int  # training cells


def read_cases(place: str, content: object) -> dict[str, Case]:
    """Training sets by name.

    Args:
        place: What messages call the mapping.
        content: Name → design and count.

    Raises:
        ProfileError: a field is unknown or missing.
    """
    return {
        name: Case(**fields_of(Case, f"{place}.{name}", case))
        for name, case in require_mapping(place, content).items()
    }


def check_cases(place: str, cases: Mapping[str, Case], datasets: Mapping[str, int]) -> None:
    """Refuse training sets that the datasets do not hold.

    Raises:
        ProfileError: naming the field, the value and what is allowed.
    """
    for name, case in cases.items():
        if case.design not in DESIGNS:
            raise ProfileError(
                f"{place}.{name}.design = {shown(case.design)} is not allowed: "
                f"one of {', '.join(DESIGNS)} is"
            )
        require_integer(f"{place}.{name}.count", case.count, 2)
        available = datasets.get(case.design, 0)
        if case.count > available:
            raise ProfileError(
                f"{place}.{name}.count = {shown(case.count)} is not allowed: "
                f"datasets holds {shown(available)} of {case.design!r}"
            )


def designs_of(cases: Mapping[str, Case]) -> list[str]:
    """Designs that a notebook reads for its training sets and their test set."""
    return list(dict.fromkeys([TEST, *(case.design for case in cases.values())]))
