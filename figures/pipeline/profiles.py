"""Profiles: the sizes of a run. Quick and full runs differ only in these numbers."""

import reprlib
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from fe_data.files.yaml_file import MOST_BYTES, parse_yaml
from figures.pipeline import settings
from figures.pipeline.paths import ROOT, STUDIES, TEST, TRAINING
from safe_files.reading import UnusualFile, read_file

PROFILE_DIR = ROOT / "notebooks" / "profiles"
Notebook = Literal[
    "00_method",
    "01_prior_study",
    "02_example_1d",
    "03_materials_data",
    "04_materials_surrogate",
    "04b_repeated_datasets",
]
StudyNotebook = Literal[
    "04c_ablation",
    "05_other_methods",
    "06_prior_knowledge",
    "07_active_learning",
    "08_strain_paths",
]
SECTIONS = (
    "method",
    "prior_study",
    "example_1d",
    "materials_data",
    "surrogate",
    "draws",
    "ablation",
    "other_methods",
    "prior_knowledge",
    "active_learning",
    "strain_paths",
)
PRIORS, EXAMPLE, DATA, SURROGATE, DRAWS = get_args(Notebook)[1:]
ABLATION, OTHER_METHODS, PRIOR_KNOWLEDGE, ACTIVE_LEARNING, STRAIN_PATHS = get_args(StudyNotebook)
ALL = get_args(Notebook) + get_args(StudyNotebook)
SETTINGS = dict(zip(ALL, SECTIONS, strict=True))  # notebook → its section
NEEDED = {
    DRAWS: ("draws",),
    ABLATION: ("ablation",),
    OTHER_METHODS: ("other_methods",),
    PRIOR_KNOWLEDGE: ("other_methods",),
}  # sections without defaults
OF_DATASETS = (SURROGATE, OTHER_METHODS)  # notebooks that train on the datasets of the profile
FOLLOWING = (EXAMPLE, SURROGATE, DRAWS)  # notebooks that use the setting `training`
REPEATED = (PRIORS, EXAMPLE, SURROGATE)  # notebooks that the study `repeats` executes with repeats
SHIPPED = ("full", "quick")  # results of the full run are committed
# Least numbers of simulated inputs. The estimator of mutual information needs 3 neighbours.
FEWEST: dict[settings.Design, int] = {TRAINING: 4, TEST: 2}


class ProfileError(ValueError):
    """A profile does not exist, or has a value that is not allowed."""


class Profile(settings.Section):
    """A validated profile file."""

    name: str  # of the file
    seed: settings.NotNegative
    datasets: dict[settings.Design, settings.Several]  # design → number of simulated inputs
    # Design → microstructures per input, if the number differs from the paper.
    microstructures: dict[settings.Design, settings.Several] = Field(default_factory=dict)
    surrogate: settings.Surrogate
    method: settings.Method = settings.Method()
    prior_study: settings.PriorStudy = settings.PriorStudy()
    example_1d: settings.Example1D = settings.Example1D()
    materials_data: settings.MaterialsData = settings.MaterialsData()
    repeats: settings.Repeats = settings.Repeats()
    draws: settings.Draws | None = None
    ablation: settings.Ablation | None = None
    other_methods: settings.OtherMethods | None = None
    prior_knowledge: settings.PriorKnowledge = settings.PriorKnowledge()
    active_learning: settings.ActiveLearning = settings.ActiveLearning()
    strain_paths: settings.StrainPaths = settings.StrainPaths()
    training: settings.TrainingChoice = "published"  # procedure for the results of FOLLOWING
    notebooks: list[Notebook] = Field(default_factory=list)
    apart: list[Notebook] = Field(default_factory=list)  # notebooks that run only on request

    @model_validator(mode="after")
    def _datasets_suffice(self) -> Self:
        for design, fewest in FEWEST.items():
            simulated = self.datasets.get(design, 0)
            if simulated < fewest:
                raise ValueError(f"datasets.{design} = {simulated}: must be at least {fewest}")
        for notebook in (SURROGATE, *self.notebooks):
            if refusal := self.refusal(notebook):
                raise ValueError(refusal)
        return self

    @property
    def at_once(self) -> list[Notebook]:
        """Notebooks that a run of the whole profile executes."""
        return [name for name in self.notebooks if name not in self.apart]

    def with_repeats(self) -> Self:
        """Return the profile with as many trainings as the study `repeats` has."""
        counts = self.repeats
        starts = {"starts": counts.starts, "starts_of_d": counts.starts_of_d}
        return self.model_copy(
            update={
                "prior_study": self.prior_study.model_copy(update=starts),
                "example_1d": self.example_1d.model_copy(update={"repeats": counts.example_1d}),
                "surrogate": self.surrogate.model_copy(update={"repeats": counts.surrogate}),
            }
        )

    def refusal(self, notebook: str) -> str:
        """Return why a notebook cannot run with this profile, or an empty text if it can."""
        missing = [name for name in NEEDED.get(notebook, ()) if getattr(self, name) is None]
        if missing:
            return f"{', '.join(missing)}: field required for {notebook}"
        section = SETTINGS[notebook]
        cases = getattr(self, section).cases if notebook in OF_DATASETS else {}
        for name, case in cases.items():
            simulated = self.datasets.get(case.design, 0)
            if case.count > simulated:
                return (
                    f"{section}.cases.{name}.count = {case.count}: must be at most "
                    f"datasets.{case.design} = {simulated}"
                )
        return ""

    def settings_of(self, notebook: str) -> dict[str, Any]:
        """Return the parts of a profile that a notebook reads, by name."""
        names = [SETTINGS[notebook], *(["training"] if notebook in FOLLOWING else [])]
        names += ["surrogate", "datasets"] if notebook == DRAWS else []
        names += ["other_methods"] if notebook == PRIOR_KNOWLEDGE else []
        return {name: getattr(self, name) for name in names}

    def designs_of(self, notebook: str) -> list[settings.Design]:
        """Return the designs whose tables a notebook reads."""
        if notebook in (DATA, OTHER_METHODS):
            return list(self.datasets)
        if notebook in (SURROGATE, DRAWS):
            return [TEST, *dict.fromkeys(case.design for case in self.surrogate.cases.values())]
        return []


def study_sizes(name: str) -> dict[str, Any]:
    """Return the sizes of studies under a shipped profile, by section.

    The sizes stand in the file sizes.yaml of each study.
    """
    sizes = {
        path.parent.name: parse_yaml(read_file(path, MOST_BYTES)).get(name)
        for path in sorted(STUDIES.glob("*/sizes.yaml"))
    }
    return {section: values for section, values in sizes.items() if values is not None}


def load_profile(profile: str | Path) -> Profile:
    """Load a profile by its name in notebooks/profiles, or from a YAML file.

    A shipped profile has the sizes of the studies; any other file may have sections with them.

    Raises:
        ProfileError: If there is no such profile, or it is invalid.
    """
    path = Path(profile)
    if path.suffix not in (".yaml", ".yml"):
        path = PROFILE_DIR / f"{profile}.yaml"
    shipped = path.stem in SHIPPED and path.parent.resolve() == PROFILE_DIR
    if path.stem.partition("-")[0] in SHIPPED and not shipped:
        raise ProfileError(
            f"the name of {path} must be other than {', '.join(SHIPPED)}, also before a hyphen: "
            f"results in figures/{path.stem} would be overwritten"
        )
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in PROFILE_DIR.glob("*.yaml")))
        raise ProfileError(
            f"unknown profile {str(profile)!r}: must be one of {names}, or a .yaml file"
        )
    try:
        content = parse_yaml(read_file(path, MOST_BYTES))
    except UnusualFile as error:
        raise ProfileError(f"{path}: {error}") from None
    if isinstance(content, dict):
        if "name" in content:
            raise ProfileError("name: must be left out, the name of the file is used")
        content = {key: value for key, value in content.items() if value is not None}
        content["name"] = path.stem
        content = (study_sizes(path.stem) if shipped else {}) | content
    try:
        return Profile.model_validate(content)
    except ValidationError as error:
        raise ProfileError(_sentence(error.errors(include_url=False)[0])) from None


def _sentence(error: ErrorDetails) -> str:
    """Format an error of pydantic: the field, its value and what is allowed."""
    place = ".".join(map(str, error["loc"])) or "profile"
    if error["type"] == "value_error":
        return f"{place}: {error['ctx']['error']}"
    if error["type"] not in ("missing", "extra_forbidden"):
        place += f" = {_shown(error['input'])} is not allowed"
    return f"{place}: {error['msg'][0].lower()}{error['msg'][1:]}"


def _shown(value: object) -> str:
    """Format a value on one line of a message, shortened if it is long."""
    short = reprlib.Repr()
    short.maxlevel = 1
    short.maxstring = 60
    try:
        return short.repr(value)
    except ValueError:  # Python does not convert integers of more than 4300 digits
        return "an integer of thousands of digits"
