"""Profiles: what a run simulates and trains. Quick and full differ in these numbers alone."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from figures.beyond.settings import Beyond
from figures.pipeline.cases import DESIGNS, TEST, Case, check_cases, designs_of, read_cases
from figures.pipeline.profile_fields import (
    ProfileError,
    fields_of,
    require_integer,
    require_mapping,
    require_texts,
    shown,
)
from figures.pipeline.profile_sections import Cell, Example1D, MaterialsData, PriorStudy, Surrogate

PROFILE_DIR = Path(__file__).resolve().parents[2] / "notebooks" / "profiles"
SETTINGS = {  # notebook → field of the profile
    "01_prior_study": "prior_study",
    "02_example_1d": "example_1d",
    "03_materials_data": "materials_data",
    "04_materials_surrogate": "surrogate",
    "05_beyond_the_paper": "beyond",
}
GALLERY = "gallery"  # pictures of the README, beside the results of profiles
SHIPPED = ("full", "quick")  # the metrics of the full runs are committed
PRIOR_STUDY, EXAMPLE, DATA, SURROGATE, BEYOND = SETTINGS
TRAINING = "train_beta"
TRAINING_CASE = "outd"  # vanilla and anchored are compared on it, θ of the prior is fitted to it
LEAST_CELLS = 2  # for a scatter
LEAST_FOR_INFORMATION = 4  # the estimator looks at three neighbours


@dataclass(frozen=True)
class Profile:
    """A validated profile file."""

    name: str
    seed: int
    datasets: dict[str, int]  # design → number of simulated inputs
    surrogate: Surrogate
    prior_study: PriorStudy = field(default_factory=PriorStudy)
    example_1d: Example1D = field(default_factory=Example1D)
    materials_data: MaterialsData = field(default_factory=MaterialsData)
    beyond: dict[str, Any] = field(default_factory=dict)  # checked by the notebook's own module
    notebooks: dict[str, list[str]] = field(default_factory=dict)  # notebook → designs it reads
    apart: tuple[str, ...] = ()  # notebooks that are run on request only

    def __post_init__(self):
        require_integer("seed", self.seed, 0)
        require_mapping("beyond", self.beyond)
        require_mapping("notebooks", self.notebooks)
        self._check_datasets()
        self._check_cases()
        self._check_notebooks()
        self._check_designs()

    def _check_datasets(self) -> None:
        for design, count in require_mapping("datasets", self.datasets).items():
            if design not in DESIGNS:
                raise ProfileError(
                    f"datasets: unknown design {shown(design)}: {', '.join(DESIGNS)} exist"
                )
            informative = design == TRAINING and DATA in self.notebooks
            low = LEAST_FOR_INFORMATION if informative else LEAST_CELLS
            require_integer(f"datasets.{design}", count, low)

    def _check_cases(self) -> None:
        for section, cases in self._cases().items():
            check_cases(f"{section}.cases", cases, self.datasets)
        if SURROGATE in self.notebooks and TRAINING_CASE not in self.surrogate.cases:
            given = ", ".join(map(shown, self.surrogate.cases))
            raise ProfileError(
                f"surrogate.cases = {given or 'nothing'} is not allowed: {TRAINING_CASE!r} is "
                "needed among them"
            )

    def _cases(self) -> dict[str, dict[str, Case]]:
        """Training sets of each section that has some."""
        found = {SETTINGS[SURROGATE]: self.surrogate.cases}
        if self.beyond or BEYOND in self.notebooks:
            found[SETTINGS[BEYOND]] = Beyond.of(self.beyond).cases
        return found

    def _check_notebooks(self) -> None:
        for notebook, designs in self.notebooks.items():
            require_texts(f"notebooks.{notebook}", designs)
            if notebook not in SETTINGS:
                known = ", ".join(SETTINGS)
                raise ProfileError(f"notebooks: unknown notebook {shown(notebook)}: {known} exist")
            absent = [design for design in designs if design not in self.datasets]
            if absent:
                raise ProfileError(
                    f"notebooks.{notebook} reads {shown(absent[0])}, which datasets does not list"
                )
        require_texts("apart", self.apart)
        unknown = [name for name in self.apart if name not in self.notebooks]
        if unknown:
            raise ProfileError(f"apart: {shown(unknown[0])} is not among the notebooks")

    def _check_designs(self) -> None:
        """Refuse a notebook that reads what its list lacks: it would start without that table."""
        cases = self._cases()
        needed = {name: designs_of(cases.get(SETTINGS[name], {})) for name in (SURROGATE, BEYOND)}
        needed[DATA] = [TRAINING, TEST]
        for notebook, designs in self.notebooks.items():
            for design in needed.get(notebook, []):
                if design not in designs:
                    raise ProfileError(
                        f"notebooks.{notebook} = {', '.join(designs) or 'nothing'} is not allowed: "
                        f"{design!r} is needed among them"
                    )

    @property
    def at_once(self) -> list[str]:
        """Notebooks that a run of the whole profile executes."""
        return [name for name in self.notebooks if name not in self.apart]

    def settings_of(self, notebook: str) -> Any:
        """The settings that a notebook reads."""
        return getattr(self, SETTINGS[notebook])


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
    _refuse_reserved(path)
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
    fields["cases"] = read_cases("surrogate.cases", fields["cases"])
    return Surrogate(**fields)


def _materials_data(content: object) -> MaterialsData:
    fields = fields_of(MaterialsData, "materials_data", content)
    if "cell" in fields:
        fields["cell"] = Cell(**fields_of(Cell, "materials_data.cell", fields["cell"]))
    return MaterialsData(**fields)
