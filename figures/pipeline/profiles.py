"""Profiles: what a run simulates and trains. Quick and full differ in these numbers alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass

from figures.pipeline import settings
from figures.pipeline.paths import ROOT, TEST, TRAINING
from figures.pipeline.settings import ProfileError, require, shown

PROFILE_DIR = ROOT / "notebooks" / "profiles"
Notebook = Literal[
    "01_prior_study", "02_example_1d", "03_materials_data", "04_materials_surrogate",
    "05_beyond_the_paper",
]  # fmt: skip
SECTIONS = ("prior_study", "example_1d", "materials_data", "surrogate", "beyond")
SETTINGS = dict(zip(get_args(Notebook), SECTIONS, strict=True))  # notebook → its section
DATA, SURROGATE, BEYOND = list(SETTINGS)[2:]
GALLERY = "gallery"  # pictures of the README, beside the results of profiles
SHIPPED = ("full", "quick")  # the metrics of the full runs are committed
TRAINING_CASE = "outd"  # vanilla and anchored are compared on it, θ of the prior is fitted to it
LEAST_FOR_INFORMATION = 4  # training cells; the estimator looks at three neighbours


@dataclass(frozen=True, config=settings.STRICT)
class Profile:
    """A validated profile file."""

    name: str  # of the file
    seed: settings.NotNegative
    datasets: dict[settings.Design, settings.Several]  # design → number of simulated inputs
    surrogate: settings.Surrogate
    prior_study: settings.PriorStudy = settings.PriorStudy()
    example_1d: settings.Example1D = settings.Example1D()
    materials_data: settings.MaterialsData = settings.MaterialsData()
    beyond: settings.Beyond | None = None
    notebooks: dict[Notebook, list[str]] = Field(default_factory=dict)  # → designs that it reads
    apart: tuple[str, ...] = ()  # notebooks that are run on request only

    def __post_init__(self):
        if DATA in self.notebooks:
            cells, needed = self.datasets.get(TRAINING, 0), LEAST_FOR_INFORMATION
            allowed = f"{DATA} needs at least {needed}"
            require(cells >= needed, f"datasets.{TRAINING}", cells, allowed)
        if BEYOND in self.notebooks and self.beyond is None:
            raise ValueError("beyond: field 'cases' is missing")
        self._check_cases()
        for notebook, designs in self.notebooks.items():
            self._check_designs(notebook, designs)
        for name in self.apart:
            if name not in self.notebooks:
                raise ValueError(f"apart: {shown(name)} is not among the notebooks")

    def _check_cases(self) -> None:
        """Refuse training sets that are larger than their dataset, or lack the one needed."""
        for notebook in (SURROGATE, BEYOND):
            for name, case in self._cases(notebook).items():
                available = self.datasets.get(case.design, 0)
                place = f"{SETTINGS[notebook]}.cases.{name}.count"
                allowed = f"datasets holds {available} of {case.design!r}"
                require(case.count <= available, place, case.count, allowed)
        if SURROGATE in self.notebooks:
            _require_among(TRAINING_CASE, list(self.surrogate.cases), "surrogate.cases")

    def _check_designs(self, notebook: str, designs: list[str]) -> None:
        """Refuse a notebook that would start without a table that it reads."""
        for design in designs:
            if design not in self.datasets:
                raise ValueError(
                    f"notebooks.{notebook} reads {shown(design)}, which datasets does not list"
                )
        training = [case.design for case in self._cases(notebook).values()]
        needed = [*training, TEST] if training else [TRAINING, TEST] if notebook == DATA else []
        for design in needed:
            _require_among(design, designs, f"notebooks.{notebook}")

    def _cases(self, notebook: str) -> Mapping[str, settings.Case]:
        """Training sets of a notebook; empty for one without any."""
        return getattr(self.settings_of(notebook), "cases", {})

    @property
    def at_once(self) -> list[str]:
        """Notebooks that a run of the whole profile executes."""
        return [name for name in self.notebooks if name not in self.apart]

    def settings_of(self, notebook: str) -> Any:
        """The settings that a notebook reads."""
        return getattr(self, SETTINGS[notebook])


def _require_among(name: str, names: list[str], place: str) -> None:
    require(name in names, place, names, f"{name!r} is needed among them")


def load_profile(profile: str | Path) -> Profile:
    """The profile in notebooks/profiles of a name, or in a YAML file; ProfileError says why not."""
    path = Path(profile)
    if path.suffix not in (".yaml", ".yml"):
        path = PROFILE_DIR / f"{profile}.yaml"
    _refuse_reserved(path)
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in PROFILE_DIR.glob("*.yaml")))
        raise ProfileError(f"unknown profile {str(profile)!r}: {known} exist, or give a .yaml file")
    text = path.read_bytes()
    try:
        content = yaml.safe_load(text)
    except Exception as error:  # PyYAML lets through what int, float, date and the stack raise
        detail = " ".join(str(error).split())[:300]
        raise ProfileError(f"{path} is not valid YAML: {detail}") from None
    if isinstance(content, dict):
        if "name" in content:
            raise ProfileError("profile: unknown field 'name', the file has it")
        content = {key: value for key, value in content.items() if value is not None}
        content["name"] = path.stem
    return settings.validated(Profile, content)


def _refuse_reserved(path: Path) -> None:
    """Refuse a name under which committed results lie, unless it is the shipped profile's own."""
    inside = path.parent.resolve() == PROFILE_DIR
    runs = tuple(f"{name}-" for name in SHIPPED)  # with tables from DATA
    taken = path.stem == GALLERY or path.stem.startswith(runs)
    if taken or (path.stem in SHIPPED and not inside):
        raise ProfileError(
            f"the name of {path} is not allowed, since results in figures/{path.stem} would be "
            f"overwritten: any but {', '.join((GALLERY, *SHIPPED))} and those that begin with "
            f"{' or '.join(runs)} is"
        )
