"""Sections of a profile: what each notebook simulates and trains; defaults are the paper's sizes.

A value that is not allowed is refused with one sentence that names the field, the value and what is
allowed instead.
"""

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic.dataclasses import dataclass

from fe_data.settings import Inputs

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
NotNegative = Annotated[StrictInt, Field(ge=0)]
Positive = Annotated[StrictInt, Field(ge=1)]
Several = Annotated[StrictInt, Field(ge=2)]
Factor = Annotated[StrictFloat, Field(gt=0)]
Design = Literal["test_uniform", "train_uniform", "train_beta", "replicates", "noise"]
DESIGNS: tuple[str, ...] = get_args(Design)

PAPER_COUNTS = {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}  # training cells
PAPER_TEST = 50  # test cells

Kind = TypeVar("Kind")


class ProfileError(ValueError):
    """A profile that does not exist or holds a value that is not allowed."""


def validated(kind: type[Kind], content: object, *place: str) -> Kind:
    """Content of a profile, or of a section of it, as an object of its type.

    Args:
        kind: `Profile` or the class of a section.
        content: What the file holds.
        place: Name of the section, for messages.

    Raises:
        ProfileError: A field is unknown, missing or not allowed.
    """
    try:
        return TypeAdapter(kind).validate_python(content)
    except PydanticError as error:
        (first, *_) = error.errors(include_url=False)
        raise ProfileError(_sentence(*place, *first["loc"], error=first)) from None


def _sentence(*path: str | int, error: Mapping[str, Any]) -> str:
    """What pydantic found wrong with the field at a path of names, and what is allowed."""
    place, above = (".".join(map(str, names)) for names in (path, path[:-1] or ["profile"]))
    reason = error["msg"][0].lower() + error["msg"][1:]
    match error["type"]:
        case "value_error":
            return ".".join(filter(None, [place, str(error["ctx"]["error"])]))
        case "missing":
            return f"{above}: field {path[-1]!r} is missing"
        case "unexpected_keyword_argument":
            return f"{above}: unknown field {shown(path[-1])}"
    if path[-1:] == ("[key]",):
        place = ".".join(map(str, path[:-2]))
        return f"{place}: the key {shown(path[-2])} is not allowed: {reason}"
    return f"{place or 'profile'} = {shown(error['input'])} is not allowed: {reason}"


def shown(value: object) -> str:
    """A value on one line of a message, shortened where it is long."""
    short = reprlib.Repr()
    short.maxlevel, short.maxstring = 1, 60
    try:
        return short.repr(value)
    except ValueError:  # Python writes no integers of more than 4300 digits
        return "an integer of thousands of digits"


@dataclass(frozen=True, config=STRICT)
class Case:
    """One training set: the first `count` cells of a design."""

    design: Design
    count: Several


@dataclass(frozen=True, config=STRICT)
class PriorStudy:
    """Sizes of the study of functional priors.

    Attributes:
        members: Networks per prior.
        epochs_scale: Factor on the published epochs.
        functions: Functions drawn from each weight prior.
    """

    members: Annotated[StrictInt, Field(ge=3)] = 100
    epochs_scale: Factor = 1.0
    functions: Annotated[StrictInt, Field(ge=3)] = 1000

    @property
    def at_paper_size(self) -> bool:
        """Whether everything is as in the paper."""
        return self == PriorStudy()


@dataclass(frozen=True, config=STRICT)
class Example1D:
    """Sizes of the one-dimensional example.

    Attributes:
        repeats: Trainings with seeds of their own; for the next three see `Training`.
        pretrain_epochs_scale: Factor on the published epochs of pre-training.
        bias_correction: Of Adam; the published runs trained without it.
    """

    repeats: Positive = 3
    n_pretrained: Several = 100
    n_members: Several = 40
    prior_points: Several = 500
    pretrain_epochs_scale: Factor = 1.0
    bias_correction: StrictBool = False

    def __post_init__(self):
        _require_members(self.n_members, self.n_pretrained)

    @property
    def at_paper_size(self) -> bool:
        """Whether all but the number of repeats is as in the paper."""
        return self == Example1D(self.repeats)


@dataclass(frozen=True, config=STRICT)
class Cell:
    """The simulated cell that Fig. 8 is drawn from.

    Attributes:
        vf: Fibre volume fraction [-].
        E_f: Young's modulus of the fibres [GPa].
        b_m: Hardening coefficient of the matrix [MPa].
        c_m: Hardening exponent of the matrix [-].
        seed: Of the arrangement of the fibres.
    """

    vf: Factor = 0.35
    E_f: Factor = 400.0
    b_m: Factor = 400.0
    c_m: Factor = 0.40
    seed: NotNegative = 1

    def __post_init__(self):
        try:
            Inputs(self.vf, self.E_f, self.b_m, self.c_m)
        except ValueError as error:
            raise ValueError(str(error).replace("_GPa", "").replace("_MPa", "")) from None


@dataclass(frozen=True, config=STRICT)
class MaterialsData:
    """The cell of Fig. 8, and shuffles for the mutual information of independent pairs."""

    cell: Cell = Cell()
    shuffles: Annotated[StrictInt, Field(ge=20)] = 400


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Training:
    """How ensembles are trained to the cells of the composite.

    Attributes:
        cases: Training sets by name.
        repeats: Trainings with seeds of their own.
        n_pretrained: Networks fitted to the functional prior, behind the weight prior.
        n_members: Those of them that are trained on data.
        prior_points: Inputs at which the prior is drawn.
    """

    cases: dict[str, Case]
    repeats: Positive = 20
    n_pretrained: Several = 50
    n_members: Several = 30
    prior_points: Several = 500
    pretrain_epochs: Positive = 1000
    epochs: Positive = 600

    def __post_init__(self):
        _require_members(self.n_members, self.n_pretrained)


class Surrogate(Training):
    """How the surrogates of notebook 04 are trained."""

    @property
    def at_paper_size(self) -> bool:
        """Whether all but the number of repeats is as in the paper."""
        counts = {name: case.count for name, case in self.cases.items()}
        paper = Surrogate(cases=self.cases, repeats=self.repeats)
        return self == paper and counts == PAPER_COUNTS

    def ran_at_paper_size(self, n_train: Mapping[str, int], n_test: int) -> bool:
        """Whether the tables that were read had the paper's sizes too.

        Args:
            n_train: Training set → cells that its table had, for those that there were.
            n_test: Test cells.
        """
        same_training = all(PAPER_COUNTS.get(case) == count for case, count in n_train.items())
        return self.at_paper_size and same_training and n_test == PAPER_TEST


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Beyond(Training):
    """Sizes of notebook 05; every method is compared on the first training set.

    Attributes:
        converged_epochs: Epochs of the trainings that are to converge.
        spans: Numbers of networks behind the weight prior that are compared.
        function_pretrain_epochs: Epochs of pre-training before anchoring in function space.
        function_points: Inputs where functions are compared, beside the training inputs.
        small_repeats: Repeats of functional anchoring with the paper's network.
        noise_repeats: Repeats under each estimate of the noise.
        example_epochs_scale: Factor on the epochs of the one-dimensional example.
    """

    cases: Annotated[dict[str, Case], Field(min_length=1)]
    converged_epochs: Positive = 2500
    spans: tuple[Several, ...] = (30, 100, 300, 1000)
    function_pretrain_epochs: Positive = 500
    function_points: Several = 200
    small_repeats: Positive = 3
    noise_repeats: Positive = 3
    example_repeats: Positive = 3
    example_members: Several = 40
    example_pretrained: Several = 100
    example_epochs_scale: Factor = 1.0

    def __post_init__(self):
        _require_members(self.n_members, min(self.n_pretrained, *self.spans))


def _require_members(n_members: int, available: int) -> None:
    """Refuse more trained networks than there are pre-trained ones."""
    if n_members > available:
        raise ValueError(
            f"n_members = {n_members} is not allowed: at most the {available} pre-trained "
            "networks can be trained"
        )
