"""The file of a campaign: its limits and runs, and the checks when the file is read."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnn._validation import LARGEST, Array, as_points
from bnn.acquisition.possible import PossibleRuns, outside
from bnn.scaling import BoundsScaler
from bnn.storage.reading import is_number, read_json
from safe_files.writing import write_atomic

FORMAT = "bnn campaign"
VERSION = 2  # version 1 has neither steps nor candidates
BEGINNING = b'{"format": "bnn campaign"'
MOST_BYTES = 10**8  # about half a million runs
KEYS = {"round", "inputs", "deviation", "outputs"}


@dataclass(frozen=True)
class Run:
    """A run of the simulator.

    Attributes:
        round: Number of the round to which the run belongs.
        inputs: Inputs, (n_in,).
        deviation: Root of the mean variance that was expected after the run, see `select_runs`;
            None if the run was not selected by `select_runs`.
        outputs: Results, (n_out,), NaN for missing ones; None before the run has ended.
    """

    round: int
    inputs: tuple[float, ...]
    deviation: float | None = None
    outputs: tuple[float, ...] | None = None

    @property
    def failed(self) -> bool:
        """Whether the run has ended without any result."""
        return self.outputs is not None and bool(np.isnan(self.outputs).all())


@dataclass(frozen=True)
class Content:
    """Content of the file of a campaign."""

    possible: PossibleRuns
    runs: list[Run]
    stopped: bool


def box_of(bounds: Any) -> BoundsScaler:
    """Check bounds of the inputs, (n_in, 2), and return them as a scaler."""
    pairs = as_points("bounds", bounds)
    if pairs.shape[1] != 2:
        raise ValueError(f"bounds has shape {pairs.shape}: must be (n_in, 2)")
    return BoundsScaler(pairs[:, 0], pairs[:, 1])


def pairs_of(box: BoundsScaler) -> Array:
    """Return (low, high) of each input, (n_in, 2)."""
    return np.column_stack([box.low, box.high])


def limits_of(possible: PossibleRuns) -> dict[str, Any]:
    """Return bounds, steps and given candidates as JSON types, null in place of none."""
    candidates = None if possible.candidates is None else possible.candidates.tolist()
    steps = possible.steps.tolist() if possible.steps.any() else None
    return {"bounds": pairs_of(possible.box).tolist(), "steps": steps, "candidates": candidates}


def write_campaign(path: Path, possible: PossibleRuns, runs: Sequence[Run], stopped: bool) -> None:
    """Replace the file of a campaign in one step.

    Args:
        path: Path of the file.
        possible: Bounds, steps and candidates of the inputs.
        runs: All runs, in the order of their rounds.
        stopped: Whether the campaign has ended.
    """
    head = {"format": FORMAT, "version": VERSION} | limits_of(possible)
    head["stopped"] = stopped
    rows = ",\n".join(json.dumps(_entry(run)) for run in runs)  # one line per run
    text = f'{json.dumps(head)[:-1]}, "runs": [\n{rows}\n]}}\n'
    write_atomic(path, text.encode(), BEGINNING)


def _entry(run: Run) -> dict[str, Any]:
    """Return a run as JSON types, with null in place of NaN."""
    entry = asdict(run)
    if run.outputs is not None:
        entry["outputs"] = [None if np.isnan(value) else value for value in run.outputs]
    return entry


def read_campaign(path: Path) -> Content:
    """Read the file of a campaign.

    Args:
        path: Path of the file.

    Returns:
        Its content.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not a campaign, or is damaged.
    """
    content = read_json(path, MOST_BYTES)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not a campaign file")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= VERSION:
        raise ValueError(f"{path}: version {version!r:.60}, this bnn reads 1 to {VERSION}")
    try:
        return _checked(content)
    except ValueError as error:
        raise ValueError(f"{path} is a damaged campaign file ({error})") from None


def _checked(content: dict[str, Any]) -> Content:
    """Return the content of a campaign file; ValueError if a part is invalid."""
    box = box_of(content.get("bounds"))
    possible = PossibleRuns(box, content.get("steps"), content.get("candidates"))
    entries = content.get("runs")
    stopped = content.get("stopped")
    if not isinstance(stopped, bool):
        raise ValueError(f"stopped = {stopped!r:.60}: must be true or false")
    if not isinstance(entries, list) or not entries:
        raise ValueError("runs: must be a list with at least one run")
    runs = [_run(f"runs[{i}]", entry, len(box.low)) for i, entry in enumerate(entries)]
    _check_together(runs, box)
    return Content(possible, runs, stopped)


def _run(name: str, entry: Any, n_in: int) -> Run:
    """Return a run of a campaign file; ValueError if it is invalid."""
    if not isinstance(entry, dict) or entry.keys() != KEYS:
        raise ValueError(f"{name} = {entry!r:.60}: must have {', '.join(sorted(KEYS))}")
    number, deviation = entry["round"], entry["deviation"]
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{name}: round = {number!r:.60}: must be an integer >= 0")
    if deviation is not None and not is_number(deviation, 0.0):
        raise ValueError(f"{name}: deviation = {deviation!r:.60}: must be null or >= 0")
    inputs = _numbers(f"{name}: inputs", entry["inputs"], missing=False)
    if len(inputs) != n_in:
        raise ValueError(f"{name} has {len(inputs)} inputs: must be {n_in}")
    outputs = entry["outputs"]
    if outputs is not None:
        outputs = _numbers(f"{name}: outputs", outputs, missing=True)
    return Run(number, inputs, None if deviation is None else float(deviation), outputs)


def _numbers(name: str, values: Any, missing: bool) -> tuple[float, ...]:
    """Return a row of numbers; if numbers may be missing, null becomes NaN."""
    if isinstance(values, list) and values:
        row = [np.nan if missing and value is None else value for value in values]
        if all(value is np.nan or is_number(value, -LARGEST, LARGEST) for value in row):
            return tuple(map(float, row))
    needed = "numbers or null" if missing else "numbers"
    raise ValueError(f"{name} = {values!r:.60}: must be {needed}, and at most {LARGEST:g} in size")


def _check_together(runs: Sequence[Run], box: BoundsScaler) -> None:
    """Raise ValueError if the runs contradict each other or lie outside the bounds."""
    number = 0
    for i, run in enumerate(runs):
        if run.round not in ((number, number + 1) if i else (0,)):
            raise ValueError(f"runs[{i}] has the round {run.round} after round {number}")
        number = run.round
    sizes = {len(run.outputs) for run in runs if run.outputs is not None and not run.failed}
    if len(sizes) > 1:
        raise ValueError(f"runs have {' and '.join(map(str, sorted(sizes)))} outputs")
    if complaint := outside(np.array([run.inputs for run in runs]), box):
        raise ValueError(f"inputs{complaint}")
