"""Designs: inputs, loading and seed of each sample of a dataset."""

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fe_data.arrays import Floats, integers, numbers
from fe_data.composite.phases import Phases
from fe_data.dataset.inputs_file import (
    columns_of_fields,
    fields_of_row,
    parse_or_fixed,
    read_inputs,
)
from fe_data.dataset.table import FIELD, parse_input
from fe_data.files.csv_rows import Problems, parse_integer, read_rows
from fe_data.geometry.microstructure import FIBRES, VF_TOLERANCE, Microstructure
from fe_data.loading import Loading
from fe_data.schema import INPUT_BOUNDS, INPUT_NAMES, INPUTS
from fe_data.settings import (
    MAX_SEED,
    Inputs,
    checked_inputs,
    require_integer,
    require_kind,
)
from safe_files.text import Short

FILE_DESIGN = "inputs"
MAX_SAMPLES = 1_000_000
BETA_SHAPES = tuple(quantity.beta for quantity in INPUTS)


@dataclass(frozen=True)
class NamedDesign:
    """Kind and default size of a design."""

    kind: str  # independent "uniform" or "beta" draws, or a "hypercube", or the kind of paths
    count: int  # number of different inputs
    replicates: int  # number of microstructures per input


NAMED_DESIGNS = {
    "test_uniform": NamedDesign("uniform", 50, 1),
    "train_uniform": NamedDesign("uniform", 100, 1),
    "train_beta": NamedDesign("beta", 50, 1),
    "replicates": NamedDesign("hypercube", 10, 10),
    "noise": NamedDesign("hypercube", 20, 15),
    "reference": NamedDesign("hypercube", 200, 50),
}
# Seeds depend on the name of a design. These names differ from those in the seeds of the shipped
# tables.
_SEEDED_AS = {
    "reference": "truth",
    "random": "walks",
    "repeated_random": "repeated_walks",
    "reference_random": "truth_walks",
    "reference_random_large": "truth_large_walks",
    "reference_cycles": "truth_cycles",
    "reference_tension": "truth_tension",
}


@dataclass(frozen=True)
class Sample:
    """One RVE to simulate."""

    index: int  # row of the dataset
    group: int  # the same number for all samples with the same inputs
    seed: int  # of the microstructure
    inputs: Inputs
    path: int | None = None  # number of the loading path
    loading: Loading | None = None
    # Number of a given microstructure, and this microstructure, which replaces the seed.
    microstructure_index: int | None = None
    microstructure: Microstructure | None = None
    fields: Mapping[str, float] = field(default_factory=dict)  # values in the material, by name


@dataclass(frozen=True, repr=False)
class Design(Short):
    """The samples of a whole dataset: inputs, groups, loadings and microstructures.

    Attributes:
        name: Name of the design, on which the seeds of the microstructures depend. `named_design`
            sets it to a key of NAMED_DESIGNS, `design_from_file` to FILE_DESIGN.
        seed: Seed of the design and of all microstructures.
        inputs: (n, n_in), in the order and units of `schema.INPUTS`.
        groups: (n,) group of each sample; samples with the same inputs have the same group.
        loadings: Paths that the samples follow in turn; empty for the loading of the paper.
        microstructures: Given microstructures; empty for random ones.
        microstructure_index: (n,) index of each sample's microstructure in `microstructures`.
        fields: Numbers of a material that differ between the samples: a dictionary of arrays (n,).
            A key is the place of the number in the file of the material, such as
            `matrix.elasticity.E_GPa`; see `Phases.fields`.

    Raises:
        ValueError: If an input or a number is out of range, or lengths do not match.
        TypeError: If the name, a path or a microstructure has the wrong type.

    Examples:
        >>> import numpy as np
        >>> from fe_data import Design
        >>> inputs = np.array([[0.2, 400.0, 400.0, 0.4], [0.2, 400.0, 400.0, 0.4]])
        >>> design = Design("pair", seed=0, inputs=inputs, groups=np.array([0, 0]))
        >>> len(design), design.sample(1).inputs.vf
        (2, 0.2)
        >>> design.sample(0).seed == design.sample(1).seed
        False
    """

    name: str
    seed: int
    inputs: Floats
    groups: NDArray[np.int64]
    loadings: tuple[Loading, ...] = ()
    microstructures: tuple[Microstructure, ...] = ()
    microstructure_index: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    fields: Mapping[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_kind("name", self.name, str)
        plain: dict[str, Any] = {
            "seed": require_integer("seed", self.seed, 0, MAX_SEED),
            "inputs": checked_inputs("inputs", self.inputs),
        }
        if plain["inputs"].ndim != 2 or not plain["inputs"].size:
            raise ValueError(f"inputs of shape {plain['inputs'].shape} must be (n, n_in), n >= 1")
        for name, kind in ("loadings", Loading), ("microstructures", Microstructure):
            require_kind(name, getattr(self, name), tuple, list)
            plain[name] = tuple(getattr(self, name))
            for entry in plain[name]:
                require_kind(name, entry, kind)
        n = len(plain["inputs"])
        placed = n if plain["microstructures"] else 0
        for name, length in ("groups", n), ("microstructure_index", placed):
            plain[name] = integers(name, getattr(self, name))
            if len(plain[name]) != length:
                of = f"inputs has {n} rows, microstructures {len(plain['microstructures'])}"
                what = f"{name} has {len(plain[name])} numbers: must have {length}"
                raise ValueError(f"{what}, since {of}")
        require_kind("fields", self.fields, Mapping)
        plain["fields"] = {}
        for name, values in self.fields.items():
            require_kind("fields", name, str)
            plain["fields"][name] = column = numbers(f"fields[{name!r:.60}]", values)
            if column.shape != (n,) or not np.isfinite(column).all():
                what = f"fields[{name!r:.60}] of shape {column.shape} must be"
                raise ValueError(f"{what} ({n},) finite numbers")
        for number in plain["microstructure_index"].tolist():
            require_integer("microstructure_index", number, 0, len(plain["microstructures"]) - 1)
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def varied(self) -> Floats:
        """Inputs and fields (n, n_in + number of fields) of all samples."""
        return np.column_stack([self.inputs, *self.fields.values()])

    def sample(self, index: int) -> Sample:
        """Return one sample of this design.

        Args:
            index: Row of the dataset.

        Returns:
            The sample, with its inputs, its loading, and its microstructure or the seed for it.

        Examples:
            >>> from fe_data import named_design
            >>> named_design("replicates").sample(11).group
            1
        """
        inputs = Inputs(*self.inputs[index].tolist())
        path = index % len(self.loadings) if self.loadings else None
        loading = None if path is None else self.loadings[path]
        seed = seed_of(self.name, self.seed, index)
        number = int(self.microstructure_index[index]) if self.microstructures else None
        microstructure = None if number is None else self.microstructures[number]
        group = int(self.groups[index])
        fields = {name: column[index].item() for name, column in self.fields.items()}
        return Sample(index, group, seed, inputs, path, loading, number, microstructure, fields)


def digest_inputs(inputs: Floats, groups: NDArray[np.int64]) -> str:
    """Return the SHA-256 of inputs and fields (n, ...) and of groups (n,), equal on any machine."""
    values = np.ascontiguousarray(inputs, dtype="<f8").tobytes()
    return hashlib.sha256(values + np.ascontiguousarray(groups, dtype="<i8").tobytes()).hexdigest()


def seeds_of(name: str, seed: int, *key: int) -> np.random.SeedSequence:
    """Return the seed sequence of a design by its name, or with `key` of a part of it."""
    number = zlib.crc32(_SEEDED_AS.get(name, name).encode())
    return np.random.SeedSequence((seed, number), spawn_key=key)


def seed_of(name: str, seed: int, index: int) -> int:
    """Return the seed in [0, 2**63) of a sample's microstructure, by the name of the design."""
    return _draw_seed(seeds_of(name, seed, index))


def retry_seed(seed: int) -> int:
    """Return the seed of the second microstructure of a sample, after that of `seed` failed."""
    return _draw_seed(np.random.SeedSequence(seed, spawn_key=(1,)))


def named_design(
    name: str, seed: int = 0, *, count: int | None = None, replicates: int | None = None
) -> Design:
    """Make a design of the paper (section 3.2.1): independent draws, or a replicated hypercube.

    Args:
        name: Key of NAMED_DESIGNS.
        seed: Seed of the inputs and of the microstructures, in [0, 2**63).
        count: Number of different inputs; None uses the number of the paper. If the inputs are
            independent draws, a smaller design has the first inputs of a larger one.
        replicates: Number of microstructures per input; None uses the number of the paper.

    Returns:
        The design.

    Raises:
        ValueError: If the name is unknown, or a number is out of range.

    Examples:
        >>> from fe_data import named_design
        >>> design = named_design("noise", count=2, replicates=3)
        >>> design.inputs.shape, design.groups.tolist()
        ((6, 4), [0, 0, 0, 1, 1, 1])
    """
    kind, seed, count, repeats = checked_design(NAMED_DESIGNS, name, seed, count, replicates)
    from scipy import stats  # imported here, because the import is slow and workers do not need it

    rng = np.random.default_rng(seeds_of(name, seed))
    if kind == "hypercube":
        sampler = stats.qmc.LatinHypercube(len(INPUT_NAMES))
        # Set the generator afterwards: newer versions of SciPy would draw from a child of it.
        sampler.rng = rng
        unit = sampler.random(count)
    else:
        unit = rng.random((count, len(INPUT_NAMES)))
    if kind == "beta":
        a, b = np.transpose(BETA_SHAPES)
        unit = stats.beta.ppf(unit, a, b)
    low, high = np.transpose(list(INPUT_BOUNDS.values()))
    points = np.clip(low + unit * (high - low), low, high)
    return Design(name, seed, points.repeat(repeats, axis=0), np.arange(count).repeat(repeats))


def checked_design(
    designs: Mapping[str, NamedDesign],
    name: str,
    seed: int,
    count: int | None,
    replicates: int | None,
) -> tuple[str, int, int, int]:
    """Return kind, seed, and numbers of inputs and microstructures per input of a named design."""
    if not isinstance(name, str) or name not in designs:
        raise ValueError(f"name = {name!r:.60} is not a design: allowed are {', '.join(designs)}")
    design = designs[name]
    count = design.count if count is None else count
    repeats = design.replicates if replicates is None else replicates
    seed = require_integer("seed", seed, 0, MAX_SEED)
    count = require_integer("count", count, 1, MAX_SAMPLES)
    repeats = require_integer("replicates", repeats, 1, MAX_SAMPLES // count)
    return design.kind, seed, count, repeats


def digest_microstructures(design: Design) -> str:
    """Return the SHA-256 of the microstructures of a design, and of the index of each sample."""
    digest = hashlib.sha256()
    for micro in design.microstructures:
        fibres = np.column_stack([micro.centres, micro.radii])
        digest.update(len(fibres).to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(fibres, dtype="<f8").tobytes())
        # Defaults are left out, so that digests of plain fibres in a square do not change.
        if set(micro.phases) - {FIBRES}:
            digest.update(json.dumps(micro.phases).encode())
        if micro.height != 1.0 or micro.interphase:
            digest.update(json.dumps([micro.height, micro.interphase]).encode())
        if micro.E_GPa is not None:
            digest.update(np.ascontiguousarray(micro.E_GPa, dtype="<f8").tobytes())
    digest.update(np.ascontiguousarray(design.microstructure_index, dtype="<i8").tobytes())
    return digest.hexdigest()


def design_from_file(
    path: Path,
    seed: int = 0,
    *,
    replicates: int = 1,
    microstructures: Sequence[Microstructure] | None = None,
    phases: Phases | None = None,
) -> Design:
    """Read a design from a CSV file with the columns of the inputs and, optionally, `group`.

    Further columns are ignored, so that any dataset.csv can be simulated again. Without a column
    `group`, every row is a separate group.

    With given microstructures every row is simulated with each of them, or only with the
    microstructure in its column `microstructure`. The volume fraction follows from the fibres, so
    the file needs no `vf`; a `vf` that differs by more than 0.001 raises an error. Samples with the
    same inputs form a group.

    Args:
        path: The CSV file.
        seed: Seed of the microstructures, in [0, 2**63).
        replicates: Number of microstructures per row.
        microstructures: Given microstructures, such as from `microstructures_from_file`, instead
            of random ones. They cannot be combined with `seed` and `replicates`.
        phases: Phases that you will also pass to `generate`. The file then needs only `vf`. A
            column with a name of `Phases.fields` replaces this number of the material in each row.

    Returns:
        The design.

    Raises:
        ValueError: If a row is invalid; the message has line number, column and value of each.

    Examples:
        >>> from fe_data import design_from_file
        >>> len(design_from_file("fe_data/datasets/test_uniform.csv", replicates=3))
        150
    """
    seed = require_integer("seed", seed, 0, MAX_SEED)
    repeats = require_integer("replicates", replicates, 1, MAX_SAMPLES)
    require_kind("phases", phases, Phases, NoneType)
    if microstructures is not None:
        if seed != 0 or repeats != 1:
            which = f"seed = {seed}" if seed else f"replicates = {repeats}"
            raise ValueError(f"{which} cannot be combined with given microstructures")
        return _with_microstructures(path, microstructures, phases)
    points, groups, fields = read_inputs(path, phases)
    if len(points) > MAX_SAMPLES:
        raise ValueError(f"{path}: {len(points)} rows are too many: allowed are {MAX_SAMPLES}")
    require_integer("replicates", repeats, 1, MAX_SAMPLES // len(points))
    points, groups = np.repeat(points, repeats, axis=0), np.repeat(groups, repeats)
    columns = {name: np.repeat(column, repeats) for name, column in fields.items()}
    return Design(FILE_DESIGN, seed, points, groups, fields=columns)


def _with_microstructures(
    path: Path, microstructures: Sequence[Microstructure], phases: Phases | None
) -> Design:
    """Make the design of all rows of a file with given microstructures."""
    require_kind("microstructures", microstructures, Sequence)
    for micro in microstructures:
        require_kind("microstructures", micro, Microstructure)
    require_integer("number of microstructures", len(microstructures), 1, MAX_SAMPLES)
    # Round, because the sum of the same radii in another order may differ in its last bits.
    fractions = [round(micro.volume_fraction, 12) for micro in microstructures]
    others = [name for name in INPUT_NAMES if name != "vf"]
    problems = Problems(path)
    points = []
    chosen = []
    fields: list[dict[str, float]] = []
    fixed = {} if phases is None else phases.fixed_inputs
    needed = [name for name in others if name not in fixed]
    for line, row in read_rows(path, needed, ("vf", "microstructure", *fixed), also=FIELD):
        parse = partial(problems.parse, line, row)
        own_fields, fixed = fields_of_row(problems, line, row, phases)
        values = [parse_or_fixed(problems, line, row, name, fixed) for name in others]
        vf = parse(parse_input, "vf")
        choice = parse(parse_integer, "microstructure")
        if choice is not None and choice >= len(microstructures):
            most = len(microstructures) - 1
            problems.add(
                line, f"microstructure = {choice}: must be at most {most}, the last one given"
            )
            continue
        for number in range(len(microstructures)) if choice is None else [choice]:
            if vf is not None and abs(vf - fractions[number]) > VF_TOLERANCE:
                fraction = f"the fibres of microstructure {number} have {fractions[number]:.6g}"
                problems.add(line, f"vf = {vf:g} does not match its fibres: {fraction}")
            points.append([fractions[number], *values])
            chosen.append(number)
            fields.append(own_fields)
    problems.raise_if_any()
    if len(points) > MAX_SAMPLES:
        raise ValueError(f"{path}: {len(points)} samples are too many: allowed are {MAX_SAMPLES}")
    inputs = np.array(points, float)
    for number, vf_given in enumerate(fractions):
        try:
            parse_input("vf", repr(vf_given))
        except ValueError as error:
            raise ValueError(f"microstructure {number} of fibres: {error}") from None
    columns = columns_of_fields(fields)
    varied = np.column_stack([inputs, *columns.values()])
    _, first, group = np.unique(varied, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # groups are numbered as they appear
    index = np.array(chosen, np.int64)
    groups = rank[group.ravel()].astype(np.int64)
    return Design(FILE_DESIGN, 0, inputs, groups, (), tuple(microstructures), index, columns)


def _draw_seed(sequence: np.random.SeedSequence) -> int:
    # 63 bits fit into a signed 64-bit integer.
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
