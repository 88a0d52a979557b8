"""Profiles: what a run simulates and trains. Quick and full differ in these numbers alone."""

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from figures.profile_fields import (
    ProfileError,
    fields_of,
    require_integer,
    require_mapping,
    require_positive,
    require_texts,
    shown,
)

PROFILE_DIR = Path(__file__).resolve().parent.parent / "notebooks" / "profiles"
SETTINGS = {  # notebook → field of the profile
    "01_prior_study": "prior_study",
    "02_example_1d": "example_1d",
    "03_materials_data": "materials_data",
    "04_materials_surrogate": "surrogate",
    "05_beyond_the_paper": "beyond",
}
PAPER_COUNTS = {"outd": 50, "ind25": 25, "ind50": 50, "ind100": 100}  # training cells
DESIGNS = ("test_uniform", "train_uniform", "train_beta", "replicates", "noise")


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


@dataclass(frozen=True)
class Case:
    """One training set: the first inputs of a design."""

    design: str
    count: int  # training cells


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


@dataclass(frozen=True)
class Profile:
    """A validated profile file."""

    name: str
    seed: int
    datasets: dict[str, int]  # design → number of simulated inputs
    surrogate: Surrogate
    prior_study: PriorStudy = PriorStudy()
    example_1d: Example1D = Example1D()
    materials_data: MaterialsData = MaterialsData()
    beyond: dict[str, Any] = field(default_factory=dict)  # checked by the notebook's own module
    notebooks: dict[str, list[str]] = field(default_factory=dict)  # notebook → designs it reads
    apart: tuple[str, ...] = ()  # notebooks that are run on request only

    def __post_init__(self):
        require_integer("seed", self.seed, 0)
        require_mapping("beyond", self.beyond)
        self._check_datasets()
        self._check_cases()
        self._check_notebooks()

    def _check_datasets(self) -> None:
        for design, count in require_mapping("datasets", self.datasets).items():
            if design not in DESIGNS:
                raise ProfileError(
                    f"datasets: unknown design {shown(design)}: {', '.join(DESIGNS)} exist"
                )
            require_integer(f"datasets.{design}", count, 1)

    def _check_cases(self) -> None:
        for name, case in self.surrogate.cases.items():
            place = f"surrogate.cases.{name}"
            if case.design not in DESIGNS:
                raise ProfileError(
                    f"{place}.design = {shown(case.design)} is not allowed: "
                    f"one of {', '.join(DESIGNS)} is"
                )
            require_integer(f"{place}.count", case.count, 2)
            available = self.datasets.get(case.design, 0)
            if case.count > available:
                raise ProfileError(
                    f"{place}.count = {shown(case.count)} is not allowed: "
                    f"datasets holds {shown(available)} of {case.design!r}"
                )

    def _check_notebooks(self) -> None:
        for notebook, designs in require_mapping("notebooks", self.notebooks).items():
            require_texts(f"notebooks.{notebook}", designs)
            absent = [design for design in designs if design not in self.datasets]
            if absent:
                raise ProfileError(
                    f"notebooks.{notebook} reads {shown(absent[0])}, which datasets does not list"
                )
        require_texts("apart", self.apart)
        unknown = [name for name in self.apart if name not in self.notebooks]
        if unknown:
            raise ProfileError(f"apart: {shown(unknown[0])} is not among the notebooks")

    @property
    def at_once(self) -> list[str]:
        """Notebooks that a run of the whole profile executes."""
        return [name for name in self.notebooks if name not in self.apart]

    def settings_of(self, notebook: str) -> Any:
        """The settings that a notebook reads."""
        return getattr(self, SETTINGS.get(notebook, "surrogate"))


def load_profile(profile: str | Path) -> Profile:
    """Read and validate a profile.

    Args:
        profile: name of a file in notebooks/profiles, or the path of a YAML file.

    Returns:
        The profile.

    Raises:
        ProfileError: it does not exist, or a field is unknown, missing or out of range.
    """
    text = str(profile)
    path = Path(text) if text.endswith((".yaml", ".yml")) else PROFILE_DIR / f"{text}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in PROFILE_DIR.glob("*.yaml")))
        raise ProfileError(f"unknown profile {text!r}: {known} exist, or give a .yaml file")
    try:
        content = yaml.safe_load(path.read_bytes())
    except OSError:
        raise
    except Exception as error:  # PyYAML lets through what int, float, date and the stack raise
        detail = " ".join(str(error).split())[:300]
        raise ProfileError(f"{path} is not valid YAML: {detail}") from None
    return _from_dict(path.stem, content)


def _from_dict(name: str, content: object) -> Profile:
    given = require_mapping(f"profile {name!r}", content)
    sections = {key: value for key, value in given.items() if value is not None}  # "beyond:"
    fields = fields_of(Profile, f"profile {name!r}", {"name": name, **sections})
    if "name" in given:
        raise ProfileError(f"profile {name!r}: unknown field 'name'")
    fields["surrogate"] = _surrogate(fields["surrogate"])
    for key, kind in (("prior_study", PriorStudy), ("example_1d", Example1D)):
        fields[key] = kind(**fields_of(kind, key, fields.get(key, {})))
    fields["materials_data"] = _materials_data(fields.get("materials_data", {}))
    require_texts("apart", fields.get("apart", ()))
    return Profile(**{**fields, "apart": tuple(fields.get("apart", ()))})


def _surrogate(content: object) -> Surrogate:
    fields = fields_of(Surrogate, "surrogate", content)
    cases = require_mapping("surrogate.cases", fields["cases"])
    fields["cases"] = {
        name: Case(**fields_of(Case, f"surrogate.cases.{name}", case))
        for name, case in cases.items()
    }
    return Surrogate(**fields)


def _materials_data(content: object) -> MaterialsData:
    fields = fields_of(MaterialsData, "materials_data", content)
    if "cell" in fields:
        fields["cell"] = Cell(**fields_of(Cell, "materials_data.cell", fields["cell"]))
    return MaterialsData(**fields)
