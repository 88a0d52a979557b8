"""Sections of a profile: the sizes of each notebook; the defaults are those of the paper."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from fe_data.settings import Inputs, require_c

NotNegative = Annotated[int, Field(ge=0)]
Several = Annotated[int, Field(ge=2)]
AtLeast3 = Annotated[int, Field(ge=3)]
PathCount = Annotated[int, Field(ge=1, le=500)]  # strain paths of the training set
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Design = Literal["test_uniform", "train_uniform", "train_beta", "replicates", "noise"]
TrainingChoice = Literal["published", "proper"]  # as in the published code, or as the paper prints
Estimate = Literal["average", "map"]  # of `bnn.evidence.fit_prior`
TRAINING_CASE = "outd"  # training set for vanilla and anchored, to which θ of the prior is fitted
EPOCHS = (50, 100, 200, 400, 600, 1000, 2000, 4000, 10_000)  # scores are computed after these
FEWEST_CASE = "ind25"  # the smallest training set in distribution
PAPER_COUNTS = {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}  # training RVEs
PAPER_TEST = 50  # test RVEs


class Section(BaseModel):
    """Settings by name. A value of another type than declared is rejected, not converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @property
    def at_paper_size(self) -> bool:
        """Whether all settings but `cases`, `repeats`, `starts`, `starts_of_d` are the paper's."""
        free = {"cases", "repeats", "starts", "starts_of_d"}
        return not self.model_dump(exclude_defaults=True, exclude=free)


class PriorStudy(Section):
    """Sizes of the study of functional priors."""

    members: AtLeast3 = 100  # networks per prior
    epochs_scale: PositiveFloat = 1.0  # factor on the published epochs
    functions: AtLeast3 = 1000  # drawn from each weight prior
    starts: PositiveInt = 1  # number of random initial weights for each prior
    starts_of_d: PositiveInt = 1  # the same for prior D, whose results depend on them most

    @model_validator(mode="after")
    def _starts_of_d_are_more(self) -> Self:
        if self.starts_of_d < self.starts:
            needed = f"must be at least starts = {self.starts}"
            raise ValueError(f"starts_of_d = {self.starts_of_d}: {needed}")
        return self


class Ensembles(Section):
    """Sizes of ensembles that are trained repeatedly; the defaults are for the composite."""

    repeats: PositiveInt = 20  # trainings, each with its own seed
    n_pretrained: Several = 50  # networks fitted to the functional prior
    n_members: Several = 30  # number of these networks that are trained on data
    prior_points: Several = 500  # inputs at which the prior is drawn

    @model_validator(mode="after")
    def _members_are_pretrained(self) -> Self:
        available = min([self.n_pretrained, *getattr(self, "spans", ())])  # OtherMethods has spans
        if self.n_members > available:
            needed = f"must be at most {available}, the number of pre-trained networks"
            raise ValueError(f"n_members = {self.n_members}: {needed}")
        return self


class Method(Section):
    """Sizes of the method in plain PyTorch."""

    n_members: Several = 30
    epochs: PositiveInt = 1000  # of pre-training, full batches


class Example1D(Ensembles):
    """Sizes of the one-dimensional example."""

    repeats: PositiveInt = 1
    n_pretrained: Several = 100
    n_members: Several = 40
    pretrain_epochs_scale: PositiveFloat = 1.0  # factor on the published epochs


class ShownRVE(Section):
    """The simulated RVE of Fig. 8."""

    vf: PositiveFloat = 0.35  # fibre volume fraction [-]
    E_f: PositiveFloat = 400.0  # Young's modulus of the fibres [GPa]
    b_m: PositiveFloat = 400.0  # hardening coefficient of the matrix [MPa]
    c_m: PositiveFloat = 0.40  # hardening exponent of the matrix [-]
    seed: NotNegative = 1  # of the microstructure

    @model_validator(mode="after")
    def _inputs_are_in_range(self) -> Self:
        Inputs(self.vf, self.E_f, self.b_m, self.c_m)
        require_c(self.c_m, "power")
        return self


class MaterialsData(Section):
    """The RVE of Fig. 8, and the number of shuffles for the chance level of Table 2."""

    rve: ShownRVE = ShownRVE()
    shuffles: Annotated[int, Field(ge=20)] = 400  # of the outputs


class Case(Section):
    """One training set: the first `count` RVEs of a design."""

    design: Design
    count: Several


class Training(Ensembles):
    """Sizes of ensembles that are trained on RVEs of the composite."""

    cases: Annotated[dict[str, Case], Field(min_length=1)]  # training sets by name
    pretrain_epochs: PositiveInt = 1000
    epochs: PositiveInt = 600


class Surrogate(Training):
    """Sizes of notebook 04."""

    repeats: PositiveInt = 1

    @model_validator(mode="after")
    def _has_training_case(self) -> Self:
        if TRAINING_CASE not in self.cases:
            raise ValueError(f"cases = {[*self.cases]}: must contain {TRAINING_CASE!r}")
        return self

    def ran_at_paper_size(self, n_train: Mapping[str, int], n_test: int) -> bool:
        """Return whether the settings and the tables have the paper's sizes."""
        counts = {name: case.count for name, case in self.cases.items()}
        same_training = counts == PAPER_COUNTS and n_train.items() <= PAPER_COUNTS.items()
        return self.at_paper_size and same_training and n_test == PAPER_TEST


class Repeats(Section):
    """How often the study `repeats` trains, to know the scatter; a run of the paper trains once."""

    starts: PositiveInt = 10  # of notebook 01
    starts_of_d: PositiveInt = 30
    example_1d: PositiveInt = 40  # trainings of notebook 02
    surrogate: PositiveInt = 10  # trainings of notebook 04


class Draws(Section):
    """Number of independently simulated datasets; each has the sizes of the profile."""

    count: AtLeast3 = 24
    repeats: PositiveInt = 3  # trainings on each dataset


class Ablation(Training):
    """Sizes of notebook 04c_ablation, which reads the 24 datasets of the package."""

    draws: Annotated[int, Field(ge=2, le=24)] = 24  # datasets for the table of choices
    repeats: PositiveInt = 3  # trainings on each dataset, with the same pre-trained networks
    choosing: Several = 10  # networks in each ensemble that is scored on held-out RVEs
    n_pretrained: Several = 30  # all of them are trained
    # Numbers of epochs from which held-out RVEs select.
    tuned: Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)] = (200, 600, 2000)
    # Numbers of networks from which held-out RVEs select afterwards.
    numbers: Annotated[tuple[Several, ...], Field(strict=False, min_length=1)] = (10, 20, 30)
    experiments: Annotated[int, Field(ge=2, le=24)] = 8  # datasets for the causes of the gain
    path: Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=2)] = EPOCHS
    members: Annotated[tuple[Several, ...], Field(strict=False, min_length=1)] = (10, 30, 100)
    widths: Annotated[tuple[Several, ...], Field(strict=False, min_length=1)] = (10, 20, 50)

    @model_validator(mode="after")
    def _has_compared_cases(self) -> Self:
        needed = {TRAINING_CASE, FEWEST_CASE}
        if not needed <= set(self.cases):
            names = " and ".join(sorted(needed))
            raise ValueError(f"cases = {[*self.cases]}: must contain {names}")
        if self.n_members not in self.members:
            chosen = f"n_members = {self.n_members}"
            raise ValueError(f"members = {[*self.members]}: must contain {chosen}")
        if max(self.choosing, *self.numbers) > self.n_pretrained:
            raise ValueError(
                f"choosing = {self.choosing}, numbers = {[*self.numbers]}: must be at "
                f"most n_pretrained = {self.n_pretrained}"
            )
        return self


class OtherMethods(Training):
    """Sizes of notebook 05; all methods are compared on the first of its training sets."""

    converged_epochs: PositiveInt = 2500  # of trainings to convergence
    # Numbers of pre-trained networks from which the weight prior is estimated.
    spans: Annotated[tuple[Several, ...], Field(strict=False)] = (30, 100, 300, 1000)
    function_pretrain_epochs: PositiveInt = 500  # before anchoring in function space
    function_points: Several = 200  # measurement points in addition to the training inputs
    small_repeats: PositiveInt = 3  # of function-space anchoring with the paper's network
    noise_repeats: PositiveInt = 3  # with each estimate of the noise
    example_repeats: PositiveInt = 3
    example_members: Several = 40
    example_pretrained: Several = 100
    example_epochs_scale: PositiveFloat = 1.0


class PriorKnowledge(Section):
    """Sizes of notebook 06, which reads the tables of the package."""

    draws: Annotated[int, Field(ge=1, le=24)] = 24  # datasets
    # Numbers of training RVEs in distribution, increasing; claims compare 10 with 50.
    counts: Annotated[tuple[Several, ...], Field(strict=False)] = (10, 25, 50, 100)
    # The same for the ensembles, which are slowest.
    ensemble_counts: Annotated[tuple[Several, ...], Field(strict=False)] = (25,)
    # Mean-field models that are compared by their evidence: every pair of the two parameters.
    references: Annotated[tuple[Share, ...], Field(strict=False)] = (0.0, 0.25, 0.5)
    fluctuations: Annotated[tuple[Share, ...], Field(strict=False)] = (0.2, 0.4, 0.6)
    estimate: Estimate = "average"  # of priors from the evidence; "map" takes less time

    @model_validator(mode="after")
    def _has_compared_counts(self) -> Self:
        if list(self.counts) != sorted(set(self.counts)) or not {10, 50} <= set(self.counts):
            needed = "must be increasing numbers with 10 and 50"
            raise ValueError(f"counts = {[*self.counts]}: {needed}")
        return self


class ActiveLearning(Section):
    """Sizes of notebook 07, which simulates a few small RVEs and reads tables of the package."""

    start: AtLeast3 = 6  # RVEs that are simulated first
    rounds: PositiveInt = 3
    chosen: PositiveInt = 3  # RVEs selected per round
    n_fibres: Annotated[int, Field(ge=3)] = 12
    seeds: PositiveInt = 20  # this and the settings below belong to the comparison with hypercubes
    candidates: Annotated[int, Field(ge=50)] = 1000  # inputs to select from
    batch: Literal[1, 5] = 5  # RVEs selected before the posterior is fitted again
    known: Annotated[int, Field(ge=10)] = 300  # RVEs that give the known hyperparameters
    estimate: Estimate = "average"  # of the priors from the evidence


class StrainPaths(Section):
    """Sizes of notebook 08, which reads the strain paths of the package."""

    # Numbers of training paths, increasing.
    counts: Annotated[tuple[PathCount, ...], Field(strict=False)] = (5, 20, 50, 100, 500)
    few: PathCount = 5  # the smaller of two counts whose posteriors are plotted
    many: PathCount = 100  # the larger of them
    draws: Annotated[int, Field(ge=1, le=5)] = 3  # disjoint training sets for each count
    reference_rves: Annotated[int, Field(ge=2, le=15)] = 15  # RVEs of each reference set

    @model_validator(mode="after")
    def _counts_increase_and_have_those_drawn(self) -> Self:
        increasing = list(self.counts) == sorted(set(self.counts))
        if not increasing or not {self.few, self.many} <= set(self.counts) or self.few >= self.many:
            needed = f"must increase, and contain few = {self.few} < many = {self.many}"
            raise ValueError(f"counts = {[*self.counts]}: {needed}")
        return self
