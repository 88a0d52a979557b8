"""Sections of a profile: what each notebook simulates and trains, by default as in the paper."""

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
AtLeast3 = Annotated[StrictInt, Field(ge=3)]
Factor = Annotated[StrictFloat, Field(gt=0)]
Design = Literal["test_uniform", "train_uniform", "train_beta", "replicates", "noise"]
DESIGNS: tuple[str, ...] = get_args(Design)

PAPER_COUNTS = {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}  # training cells
PAPER_TEST = 50  # test cells

Kind = TypeVar("Kind")


class ProfileError(ValueError):
    """A profile that does not exist or holds a value that is not allowed."""


def validated(kind: type[Kind], content: object, *place: str) -> Kind:
    """Content of a profile, or of the section at a place in it; ProfileError names a bad field."""
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


def require(holds: bool, place: str, value: object, allowed: str) -> None:
    """Refuse the value of a field unless a condition holds."""
    if not holds:
        raise ValueError(f"{place} = {shown(value)} is not allowed: {allowed}")


def _require_members(n_members: int, available: int) -> None:
    allowed = f"at most the {available} pre-trained networks can be trained"
    require(n_members <= available, "n_members", n_members, allowed)


@dataclass(frozen=True, config=STRICT)
class Case:
    """One training set: the first `count` cells of a design."""

    design: Design
    count: Several


@dataclass(frozen=True, config=STRICT)
class PriorStudy:
    """Sizes of the study of functional priors."""

    members: AtLeast3 = 100  # networks per prior
    epochs_scale: Factor = 1.0  # on the published epochs
    functions: AtLeast3 = 1000  # drawn from each weight prior

    @property
    def at_paper_size(self) -> bool:
        """Whether everything is as in the paper."""
        return self == PriorStudy()


@dataclass(frozen=True, config=STRICT)
class Example1D:
    """Sizes of the one-dimensional example; the first four are those of `Training`."""

    repeats: Positive = 3
    n_pretrained: Several = 100
    n_members: Several = 40
    prior_points: Several = 500
    pretrain_epochs_scale: Factor = 1.0  # on the published epochs
    bias_correction: StrictBool = False  # of Adam; the published runs trained without it

    def __post_init__(self):
        _require_members(self.n_members, self.n_pretrained)

    @property
    def at_paper_size(self) -> bool:
        """Whether all but the number of repeats is as in the paper."""
        return self == Example1D(self.repeats)


@dataclass(frozen=True, config=STRICT)
class Cell:
    """The simulated cell that Fig. 8 is drawn from."""

    vf: Factor = 0.35  # fibre volume fraction [-]
    E_f: Factor = 400.0  # Young's modulus of the fibres [GPa]
    b_m: Factor = 400.0  # hardening coefficient of the matrix [MPa]
    c_m: Factor = 0.40  # hardening exponent of the matrix [-]
    seed: NotNegative = 1  # of the arrangement of the fibres

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
    """How ensembles are trained to the cells of the composite."""

    cases: dict[str, Case]  # training sets by name
    repeats: Positive = 20  # trainings with seeds of their own
    n_pretrained: Several = 50  # networks fitted to the functional prior
    n_members: Several = 30  # those of them that are trained on data
    prior_points: Several = 500  # inputs at which the prior is drawn
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
        """Whether the tables that were read had the paper's sizes too."""
        same_training = all(PAPER_COUNTS.get(case) == count for case, count in n_train.items())
        return self.at_paper_size and same_training and n_test == PAPER_TEST


@dataclass(frozen=True, config=STRICT, kw_only=True)
class Beyond(Training):
    """Sizes of notebook 05; every method is compared on the first training set."""

    cases: Annotated[dict[str, Case], Field(min_length=1)]
    converged_epochs: Positive = 2500  # of the trainings that are to converge
    spans: tuple[Several, ...] = (30, 100, 300, 1000)  # networks behind the weight prior
    function_pretrain_epochs: Positive = 500  # before anchoring in function space
    function_points: Several = 200  # where functions are compared, beside the training inputs
    small_repeats: Positive = 3  # of functional anchoring with the paper's network
    noise_repeats: Positive = 3  # under each estimate of the noise
    example_repeats: Positive = 3
    example_members: Several = 40
    example_pretrained: Several = 100
    example_epochs_scale: Factor = 1.0

    def __post_init__(self):
        _require_members(self.n_members, min(self.n_pretrained, *self.spans))
