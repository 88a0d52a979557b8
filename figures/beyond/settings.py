"""Sizes of the comparison with other methods: the `beyond` mapping of a profile."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from figures.pipeline.cases import Case, read_cases
from figures.pipeline.profile_fields import (
    ProfileError,
    fields_of,
    require_integer,
    require_positive,
    shown,
)


@dataclass(frozen=True)
class Beyond:
    """Sizes of notebook 05; networks and epochs of the published methods are the paper's."""

    cases: dict[str, Case]  # training sets; the first sees every method
    repeats: int = 20
    n_members: int = 30  # networks trained to data
    n_pretrained: int = 50  # networks behind the weight prior
    prior_points: int = 500
    pretrain_epochs: int = 1000
    epochs: int = 600
    converged_epochs: int = 2500
    spans: tuple[int, ...] = (30, 100, 300, 1000)  # networks behind the weight prior, compared
    function_pretrain_epochs: int = 500
    function_points: int = 200  # where functions are compared, beside the training inputs
    small_repeats: int = 3  # of functional anchoring with the paper's network
    noise_repeats: int = 3
    example_repeats: int = 3
    example_members: int = 40
    example_pretrained: int = 100
    example_epochs_scale: float = 1.0  # factor on the epochs of the one-dimensional example

    def __post_init__(self):
        require_positive("beyond.example_epochs_scale", self.example_epochs_scale)
        for k in self.spans:
            require_integer("beyond.spans", k, 2)
        for item in dataclasses.fields(self):
            if item.name not in ("cases", "spans", "example_epochs_scale"):
                low = 1 if "epochs" in item.name or "repeats" in item.name else 2
                require_integer(f"beyond.{item.name}", getattr(self, item.name), low)
        if not self.cases:
            raise ProfileError("beyond.cases is empty: at least one training set is needed")
        if self.n_members > min(self.n_pretrained, *self.spans):
            raise ProfileError(
                f"beyond.n_members = {self.n_members} is not allowed: "
                f"at most {min(self.n_pretrained, *self.spans)} pre-trained networks are there"
            )

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Beyond":
        """Read the `beyond` mapping of a profile.

        Raises:
            ProfileError: a field is unknown, missing or out of range.
        """
        fields = fields_of(cls, "beyond", content)
        fields["cases"] = read_cases("beyond.cases", fields.get("cases"))
        spans = fields.get("spans", cls.spans)
        if not isinstance(spans, list | tuple):
            raise ProfileError(f"beyond.spans = {shown(spans)} is not allowed: a list is")
        return cls(**fields | {"spans": tuple(spans)})
