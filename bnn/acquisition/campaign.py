"""Active-learning loop for any simulator: ask for inputs, run them, tell the results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc
from sklearn.base import clone

from bnn._seeding import generator
from bnn._validation import (
    LARGEST,
    Array,
    Ints,
    as_array,
    as_columns,
    as_points,
    check_count,
    check_flags,
    check_fraction,
    check_integer,
    check_kind,
    check_option,
    read_only,
)
from bnn.acquisition.campaign_file import (
    Run,
    box_of,
    limits_of,
    pairs_of,
    read_campaign,
    write_campaign,
)
from bnn.acquisition.choice import (
    POINTS,
    check_members,
    check_model,
    only_constants,
    select_runs,
    within_limits,
)
from bnn.acquisition.possible import NEAR, PossibleRuns, outside
from bnn.acquisition.success import success_probability
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.gp.regressor import GPRegressor
from bnn.storage.reading import as_path
from safe_files.locking import locked
from safe_files.text import described, short

SAME = 1e-6  # relative to the range: inputs of one run, but for rounding
OPTIONS = [n for n, p in signature(select_runs).parameters.items() if p.kind == p.KEYWORD_ONLY]
FRACTIONS = ("min_feasibility", "min_gain")  # options of `select_runs` from 0 to 1
FEWEST = 2  # least results per output for a model; with fewer, another Latin hypercube is run


class Campaign:
    """Active-learning loop around a simulator, with `ask` and `tell`, stored in a JSON file.

    The first round is a Latin hypercube, or given inputs. In each later round `select_runs` selects
    from a Latin hypercube of candidates, with the model fitted to all results. Failed runs are not
    used to fit the model. If some runs failed, the gain of a candidate is multiplied by its
    probability of success, from a Gaussian process classifier. The variance is averaged over
    candidates drawn with this probability.

    `ask` and `tell` replace the file in one step. If a script is killed, start it again: `ask` then
    returns the inputs that have no results yet. Several scripts may share one file: each call reads
    it again and changes it under a lock. All scripts get the same runs, and the results of a run
    can be stored only once.

    With steps or given candidates, no run is requested twice, unless `select_options` has
    allow_replicates=True. When all possible runs were made, the campaign ends, and `state` says so.

    Args:
        path: Path of the file, or a link to it. If the file exists, its campaign is continued.
        bounds: (low, high) of each input, (n_in, 2).
        model: Estimator for `select_runs`, which the file does not store; None means GPRegressor().
        n_initial: Number of runs in the first round, or their inputs, (n, n_in). If fewer runs are
            possible, all of them are made.
        batch_size: Number of runs in each later round; fewer if fewer are possible.
        n_candidates: Number of candidates in each later round.
        candidates: The only possible inputs, (n, n_in); None allows all within the bounds.
        steps: Step of each input, counted from its lower bound, (n_in,): 1 for whole numbers, None
            or 0 for a continuous input. None means that all inputs are continuous.
        select_options: Further arguments of `select_runs`, such as output_bounds, output_weights
            and min_gain. Here `costs` is a function of the inputs, (n, n_in) → (n,).
        random_state: Seed of the hypercubes, an integer >= 0.

    Raises:
        TypeError: If the model is neither a GPRegressor nor an ensemble.
        ValueError: If an argument is invalid, or the file is not a campaign with these bounds.

    Examples:
        >>> import bnn
        >>> import tempfile
        >>> from pathlib import Path
        >>> model = bnn.GPRegressor(bnn.GaussianProcessPrior(0.0, bnn.RBF(1.0, 0.5)), noise=0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "campaign.json")
        ...     campaign = bnn.Campaign(file, [(-1.0, 1.0)], model, n_initial=4, batch_size=2)
        ...     while campaign.round < 3:
        ...         X = campaign.ask()
        ...         campaign.tell(X, X[:, 0] ** 2)
        ...     again = bnn.Campaign.load(file)
        >>> again.X.shape, again.y.shape, again.round
        ((8, 1), (8, 1), 3)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        bounds: ArrayLike,
        model: Any = None,
        *,
        n_initial: int | ArrayLike = 10,
        batch_size: int = 5,
        n_candidates: int = 500,
        candidates: ArrayLike | None = None,
        steps: Sequence[float | None] | Array | None = None,
        select_options: Mapping[str, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        # Resolved, because a link and its file must share one lock, and writing would replace the
        # link by a file.
        self.path = Path(os.path.realpath(as_path(path)))
        self._box = box_of(bounds)
        check_count("batch_size", batch_size, 1)
        check_count("n_candidates", n_candidates, 1)
        self._possible = PossibleRuns(self._box, steps, candidates)
        check_integer("random_state", random_state, 0)
        check_kind("select_options", {} if select_options is None else select_options, Mapping)
        self.select_options = dict(select_options or {})
        for key in self.select_options:
            check_option("a key of select_options", key, OPTIONS)
        chosen = self.select_options.items()
        check_flags(**{key: value for key, value in chosen if key == "allow_replicates"})
        check_fraction(**{key: value for key, value in chosen if key in FRACTIONS})
        repeated = self._possible.discrete.any() or self.select_options.get("allow_replicates")
        if n_candidates < batch_size and not repeated:
            raise ValueError(f"n_candidates = {n_candidates}: must be >= batch_size = {batch_size}")
        self.model = GPRegressor() if model is None else model
        check_model(self.model)
        if isinstance(self.model, EnsembleRegressor):
            check_members(self.model.n_members)
        self.batch_size = batch_size
        self.n_candidates = n_candidates
        self.candidates = candidates
        self.random_state = random_state
        self._runs: list[Run] = []
        self._stopped = False
        if not self.path.exists():
            with locked(self.path):
                if not self.path.exists():  # another script may have begun it meanwhile
                    self._begin(n_initial)
        self._read()

    def __repr__(self) -> str:
        """Return the path, the numbers of runs, runs with results and rounds, and the state."""
        told = sum(run.outputs is not None for run in self._runs)
        parts = {"path": str(self.path), "runs": len(self._runs), "told": told, "round": self.round}
        parts["state"] = self.state
        return described(type(self).__name__, parts)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Any = None, **options: Any) -> Self:
        """Load a campaign, with its bounds, steps and given candidates.

        Args:
            path: Path of the file.
            model: Estimator, as for Campaign.
            options: Further arguments of Campaign, which the file does not store.

        Returns:
            The campaign, with all runs in the file.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the file is not a campaign.
        """
        possible = read_campaign(as_path(path)).possible
        stored: dict[str, Any] = {"steps": possible.steps, "candidates": possible.candidates}
        return cls(path, pairs_of(possible.box), model, **(stored | options))

    @property
    def round(self) -> int:
        """Number of the round that `ask` returns; the first is 0."""
        last = self._runs[-1].round
        return last if len(self._waiting) else last + 1

    @property
    def stopped(self) -> bool:
        """Whether the campaign has ended: after `stop`, or as no run is left or gains enough."""
        return self._stopped

    @property
    def state(self) -> str:
        """Number of runs that wait for results, or why the campaign has ended."""
        waiting = len(self._waiting)
        if self._exhausted and not waiting:
            return "ended: all possible runs have been made"
        if self._stopped:
            return "ended: it was stopped, or no run gains enough"
        first = f", the first with {list(self._runs[self._waiting[0]].inputs)}" if waiting else ""
        return f"{waiting} of {len(self._runs)} runs wait for results{first}"

    @property
    def X(self) -> Array:
        """Inputs of the runs with results, without failed runs, (n, n_in)."""
        return self._inputs(run for run in self._told if not run.failed)

    @property
    def y(self) -> Array:
        """Results of these runs, (n, n_out); NaN for an output that a run did not return."""
        return np.array([run.outputs for run in self._told if not run.failed])

    @property
    def failed(self) -> Array:
        """Inputs of the runs that failed, (n, n_in)."""
        return self._inputs(run for run in self._told if run.failed)

    @property
    def rounds(self) -> list[Array]:
        """Inputs of the runs of each round, for `plots.plot_rounds`."""
        numbers = range(self._runs[-1].round + 1)
        return [np.array([r.inputs for r in self._runs if r.round == k]) for k in numbers]

    @property
    def deviations(self) -> Array:
        """Root of the mean variance over the region that was expected after each run, (runs,).

        It is NaN for runs of a Latin hypercube, and for runs that `ask` did not return.
        """
        return np.array([np.nan if r.deviation is None else r.deviation for r in self._runs])

    @property
    def _told(self) -> list[Run]:
        return [run for run in self._runs if run.outputs is not None]

    def _inputs(self, runs: Iterable[Run]) -> Array:
        """Return the inputs of runs, (n, n_in)."""
        return np.array([run.inputs for run in runs]).reshape(-1, len(self._box.low))

    @property
    def _waiting(self) -> Ints:
        """Indices of the runs without results."""
        return np.array([i for i, run in enumerate(self._runs) if run.outputs is None], dtype=int)

    def fit(self) -> Any:
        """Fit the model to all results.

        Returns:
            The fitted model. It predicts (n, n_out), also for one output.
        """
        return clone(self.model).fit(self.X, self.y)

    def ask(self) -> Array:
        """Return the inputs of the runs to make, and store them in the file.

        Runs without results are returned again. If there are none, a new round is selected.

        Returns:
            Inputs, (n, n_in), with n = 0 after the campaign has ended.

        Raises:
            ValueError: If no model can be fitted to the results, or `select_runs` rejects its
                arguments, for instance because no candidate satisfies `output_bounds`.
        """
        self._read()
        while not len(self._waiting) and not self._stopped:
            new = self._chosen()
            runs = self._runs
            with locked(self.path):
                self._read()
                # Another script may meanwhile have added a round or runs, or ended the campaign.
                # Then the selected round is discarded.
                if len(self._runs) == len(runs) and not self._stopped:
                    self._write([*self._runs, *new], stopped=not new)
        return self._inputs(self._runs[i] for i in self._waiting if not self._stopped)

    def _chosen(self) -> list[Run]:
        """Select the runs of a new round; none if no run is possible or gains enough."""
        if self._exhausted:
            return []
        number = self.round
        failed = self.failed
        few = np.min(np.count_nonzero(~np.isnan(self.y), axis=0), initial=FEWEST) < FEWEST
        model: Any = None if few else self.fit()
        if few or only_constants(model, self.select_options.get("output_weights")):
            n = sum(run.round == 0 for run in self._runs)
            return [Run(number, (*x,)) for x in self._spread(n, len(self._runs)).tolist()]
        drawn = self._candidates()
        options = dict(self.select_options)
        costs = options.get("costs")
        if callable(costs):
            options["costs"] = costs(read_only(drawn))
        if len(failed):
            options = self._where_runs_succeed(drawn) | options
            # Failed runs have no results, but must not be selected again.
            pending = options.get("pending")
            options["pending"] = failed if pending is None else np.vstack([failed, pending])
        elif self._possible.all is not None:
            # The box around the candidates that are left may have no width.
            options = {"region": self._region(self._possible.all)} | options
        rows, variances = select_runs(model, drawn, self._size(model, drawn), **options)
        deviations = np.sqrt(np.maximum(variances[1:], 0.0)).tolist()
        pairs = zip(drawn[rows].tolist(), deviations, strict=True)
        return [Run(number, tuple(inputs), deviation) for inputs, deviation in pairs]

    def _size(self, model: Any, drawn: Array) -> int:
        """Return the number of runs of a new round, at most the number of possible runs."""
        options = self.select_options
        if options.get("allow_replicates"):
            return self.batch_size
        limits = options.get("output_bounds", (None, None))
        allowed = within_limits(model, drawn, limits, options.get("min_feasibility", 0.9))
        return min(self.batch_size, max(int(allowed.sum()), 1))

    def _spread(self, n: int, number: int) -> Array:
        """Return possible runs near a Latin hypercube, (n, n_in), or fewer if fewer are left."""
        points = self._hypercube(n, number)
        if not self._possible.discrete.any():
            return points
        rows = self._possible.near(points, self._excluded)
        if self._possible.all is None and len(rows) < n:  # some have been rounded to one point
            more = self._hypercube(10 * n + self.n_candidates, number)
            rows = self._possible.without(np.vstack([rows, more]), self._excluded)[:n]
        return rows

    @property
    def _exhausted(self) -> bool:
        """Whether all possible runs have been made, or are waiting."""
        return self._possible.all is not None and not len(self._free())

    def _region(self, points: Array, chances: Array | None = None) -> Array:
        """Return some of the points (n, n_in), drawn in proportion to chances."""
        rng = generator(np.random.SeedSequence((self.random_state, len(self._runs), 1)))
        n = min(POINTS, len(points))
        p = None if chances is None else chances / chances.sum()
        return np.asarray(points[rng.choice(len(points), n, replace=False, p=p)])

    def _free(self) -> Array:
        """Return the listed possible runs that can still be asked for, (n, n_in)."""
        return self._possible.without(np.asarray(self._possible.all), self._excluded)

    @property
    def _excluded(self) -> Array:
        """Inputs that must not be asked for again, (n, n_in)."""
        return (
            self.failed if self.select_options.get("allow_replicates") else self._inputs(self._runs)
        )

    def _candidates(self) -> Array:
        """Return the candidates of a new round, (n, n_in).

        The seed depends on the number of runs, so each round has new candidates, and a restarted
        script gets the same ones.
        """
        number = len(self._runs)
        if self._possible.all is None:
            drawn = self._hypercube(self.n_candidates, number)
            discrete = self._possible.discrete.any()
            return self._possible.without(drawn, self._excluded) if discrete else drawn
        free = self._free()
        if self._possible.candidates is not None or len(free) <= self.n_candidates:
            return free
        rng = generator(np.random.SeedSequence((self.random_state, number)))
        return np.asarray(free[rng.choice(len(free), self.n_candidates, replace=False)])

    def _where_runs_succeed(self, candidates: Array) -> dict[str, Any]:
        """Return `success` and `region` for `select_runs`, with a region where runs succeed."""
        made = self._box.transform(self._inputs(self._told))
        succeeded = np.array([not run.failed for run in self._told])
        success = success_probability(made, succeeded, self._box.transform(candidates))
        if self._possible.all is None:
            return {"success": success, "region": self._region(candidates, success)}
        points = self._possible.all
        chances = success_probability(made, succeeded, self._box.transform(points))
        return {"success": success, "region": self._region(points, chances)}

    def tell(self, X: ArrayLike, y: ArrayLike) -> None:
        """Store results of runs.

        Args:
            X: Inputs that were used, (n, n_in): all or some of those that `ask` returned, or inputs
                of other runs within the bounds. A result belongs to the nearest run without
                results, if each input differs by at most 1 % of its range. An input with a step
                must round to the same step instead. The file then stores X.
            y: Results, (n,) or (n, n_out). A run whose results are all NaN has failed, and is not
                repeated. If only some results are NaN, the others are used.

        Raises:
            ValueError: If a run is outside the bounds or already has results, the number of outputs
                differs, or a result is infinite.

        Warns:
            UserWarning: If runs wait, and none of the results belongs to a run that waits.
        """
        points = as_points("X", X)
        values = as_columns("y", as_array("y", y), len(points))
        if np.any(np.abs(values) > LARGEST):
            needed = f"must be finite and at most {LARGEST:g} in size, or NaN for a run that failed"
            raise ValueError(f"y: {needed}")
        with locked(self.path):
            self._read()
            others = all(run is None for run in self._asked(points))
            self._write(self._with_results(points, values), self._stopped)
        if others and len(self._waiting) and not self._stopped:
            what = f"X: {points[0].tolist()} counts as another run, not one that waits"
            warnings.warn(f"{what}; {self.state}", stacklevel=2)

    def _with_results(self, points: Array, values: Array) -> list[Run]:
        """Return all runs, with the new results added; ValueError if the results are invalid."""
        # A run that failed may have fewer entries, such as one NaN.
        sizes = {len(run.outputs) for run in self._told if run.outputs and not run.failed}
        if sizes - {values.shape[1]} and not np.isnan(values).all():
            raise ValueError(f"y has {values.shape[1]} outputs: must be {sizes.pop()}")
        self._check_within("X", points)
        runs = list(self._runs)
        last = runs[-1].round
        nearest = self._possible.nearest(points).tolist()
        # A simulator may report other inputs than asked, for instance whole numbers.
        for i, asked in enumerate(self._asked(points)):
            inputs, outputs = points[i].tolist(), values[i].tolist()
            if asked is not None:
                runs[asked] = replace(runs[asked], inputs=(*inputs,), outputs=(*outputs,))
            elif (*nearest[i],) in self._made(runs):
                raise ValueError(
                    f"X[{i}] = {inputs}: already has its results; if inputs are rounded, give steps"
                )
            else:
                runs.append(Run(last, (*inputs,), outputs=(*outputs,)))
        return runs

    def _made(self, runs: Sequence[Run]) -> set[tuple[float, ...]]:
        """Return the possible runs to which the runs belong."""
        return {(*row,) for row in self._possible.nearest(self._inputs(runs)).tolist()}

    def _asked(self, points: Array) -> list[int | None]:
        """Return the waiting run to which each of the points (n, n_in) belongs, or None.

        The nearest pairs of a point and a run are matched first.
        """
        waiting = self._waiting
        asked: list[int | None] = [None] * len(points)
        runs = self._inputs(self._runs[k] for k in waiting)
        away = np.abs(points[:, None] - runs) / (self._box.high - self._box.low)
        nearest = self._possible.nearest
        same = nearest(points)[:, None] == nearest(runs)
        away = np.where(self._possible.discrete, np.where(same, 0.0, np.inf), away)
        furthest = away.max(axis=2)
        # Results that are told again belong to no other run nearby.
        told = {run.inputs for run in self._told}
        limits = [SAME if (*inputs,) in told else NEAR for inputs in points.tolist()]
        for flat in np.argsort(furthest, axis=None, kind="stable"):
            i, k = np.unravel_index(flat, furthest.shape)
            near = furthest[i, k] <= limits[i]
            if near and asked[i] is None and int(waiting[k]) not in asked:
                asked[i] = int(waiting[k])
        return asked

    def _check_within(self, name: str, points: Array) -> None:
        """Raise ValueError unless points are inputs within the bounds, (n, n_in)."""
        if points.shape[1] != len(self._box.low):
            raise ValueError(f"{name} has {points.shape[1]} inputs: must be {len(self._box.low)}")
        if complaint := outside(points, self._box):
            raise ValueError(f"{name}{complaint}")

    def stop(self) -> None:
        """End the campaign: `ask` returns no more runs. Results can still be stored."""
        with locked(self.path):
            self._read()
            self._write(self._runs, stopped=True)

    def _begin(self, n_initial: int | ArrayLike) -> None:
        """Write the file with the first round."""
        if isinstance(n_initial, int | np.integer):
            check_count("n_initial", n_initial, 1)
            points = self._spread(int(n_initial), 0)
        else:
            points = as_points("n_initial", n_initial)
            self._check_within("n_initial", points)
            points = self._possible.check("n_initial", points)
        self._write([Run(0, tuple(inputs)) for inputs in points.tolist()], stopped=False)

    def _hypercube(self, n: int, number: int) -> Array:
        """Return a Latin hypercube in the bounds, (n, n_in)."""
        rng = generator(np.random.SeedSequence((self.random_state, number)))
        unit = qmc.LatinHypercube(len(self._box.low), seed=rng).random(n)
        return np.asarray(self._box.inverse_transform(2.0 * unit - 1.0))

    def _write(self, runs: Sequence[Run], stopped: bool) -> None:
        """Replace the file in one step, then update this object."""
        write_campaign(self.path, self._possible, runs, stopped)
        self._runs = list(runs)
        self._stopped = stopped

    def _read(self) -> None:
        """Read runs and state from the file, which another script may have changed."""
        content = read_campaign(self.path)
        limits, stored = limits_of(self._possible), limits_of(content.possible)
        for name, value in limits.items():
            if value != stored[name]:
                message = f"the campaign in {self.path} has {short(stored[name])}"
                raise ValueError(f"{name} = {short(value)}: {message}")
        self._runs = content.runs
        self._stopped = content.stopped
