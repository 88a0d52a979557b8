"""Sections of a profile: what each notebook simulates and trains."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from fe_data.settings import Inputs
from figures.pipeline.cases import Case
from figures.pipeline.profile_fields import ProfileError, require_integer, require_positive, shown

PAPER_COUNTS = {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}  # training cells
PAPER_TEST = 50  # test cells


@dataclass(frozen=True)
class Cell:
    """The cell that Fig. 8 is drawn from."""

    vf: float = 0.35  # fibre volume fraction [-]
    E_f: float = 400  # Young's modulus of the fibres [GPa]
    b_m: float = 400  # hardening coefficient of the matrix [MPa]
    c_m: float = 0.40  # hardening exponent of the matrix [-]
    seed: int = 1

    def __post_init__(self):
        for name in ("vf", "E_f", "b_m", "c_m"):
            require_positive(f"materials_data.cell.{name}", getattr(self, name))
        require_integer("materials_data.cell.seed", self.seed, 0)
        try:
            Inputs(self.vf, self.E_f, self.b_m, self.c_m)
        except ValueError as error:
            words = str(error).replace("_GPa", "").replace("_MPa", "")
            raise ProfileError(f"materials_data.cell.{words}") from None


@dataclass(frozen=True)
class Surrogate:
    """How the materials surrogates are trained; the defaults are the paper's."""

    cases: dict[str, Case]
    repeats: int = 20  # trainings with seeds of their own
    n_pretrained: int = 50  # networks fitted to the functional prior
    n_members: int = 30  # of these, networks fitted to data
    prior_points: int = 500
    pretrain_epochs: int = 1000
    epochs: int = 600

    def __post_init__(self):
        for item in dataclasses.fields(self)[1:]:
            low = 2 if item.name in ("n_pretrained", "n_members", "prior_points") else 1
            require_integer(f"surrogate.{item.name}", getattr(self, item.name), low)
        if self.n_members > self.n_pretrained:
            raise ProfileError(
                f"surrogate.n_members = {self.n_members} is not allowed: "
                f"at most n_pretrained = {self.n_pretrained} is"
            )

    @property
    def at_paper_size(self) -> bool:
        """Whether all but the number of repeats is as in the paper."""
        counts = {name: case.count for name, case in self.cases.items()}
        return self == Surrogate(self.cases, self.repeats) and counts == PAPER_COUNTS

    def ran_at_paper_size(self, n_train: Mapping[str, int], n_test: int) -> bool:
        """Whether tables of other sizes have not spoilt that.

        Args:
            n_train: Training set → cells that its table had, of those that there were.
            n_test: Test cells.
        """
        same_training = all(PAPER_COUNTS.get(case) == count for case, count in n_train.items())
        return self.at_paper_size and same_training and n_test == PAPER_TEST


@dataclass(frozen=True)
class PriorStudy:
    """Sizes of the study of functional priors; the defaults are the paper's."""

    members: int = 100  # networks a prior
    epochs_scale: float = 1.0  # factor on the published epochs
    functions: int = 1000  # functions drawn from each weight prior

    def __post_init__(self):
        require_integer("prior_study.members", self.members, 3)
        require_integer("prior_study.functions", self.functions, 3)
        require_positive("prior_study.epochs_scale", self.epochs_scale)

    @property
    def at_paper_size(self) -> bool:
        """Whether everything is as in the paper."""
        return self == PriorStudy()


@dataclass(frozen=True)
class Example1D:
    """Sizes of the one-dimensional example; the defaults are the paper's."""

    repeats: int = 3  # trainings with seeds of their own
    n_pretrained: int = 100  # networks fitted to the functional prior
    n_members: int = 40  # of these, networks fitted to data
    prior_points: int = 500
    pretrain_epochs_scale: float = 1.0  # factor on the published epochs of pre-training
    bias_correction: bool = False  # the published runs trained without it

    def __post_init__(self):
        require_integer("example_1d.repeats", self.repeats, 1)
        for name in ("n_pretrained", "n_members", "prior_points"):
            require_integer(f"example_1d.{name}", getattr(self, name), 2)
        require_positive("example_1d.pretrain_epochs_scale", self.pretrain_epochs_scale)
        if not isinstance(self.bias_correction, bool):
            value = self.bias_correction
            raise ProfileError(
                f"example_1d.bias_correction = {shown(value)} is not allowed: a bool is"
            )
        if self.n_members > self.n_pretrained:
            raise ProfileError(
                f"example_1d.n_members = {self.n_members} is not allowed: "
                f"at most n_pretrained = {self.n_pretrained} is"
            )

    @property
    def at_paper_size(self) -> bool:
        """Whether all but the number of repeats is as in the paper."""
        return self == Example1D(self.repeats)


@dataclass(frozen=True)
class MaterialsData:
    """How the materials data are described."""

    cell: Cell = Cell()
    shuffles: int = 400  # of the outputs, for the mutual information of independent pairs

    def __post_init__(self):
        require_integer("materials_data.shuffles", self.shuffles, 20)
