"""Which cells next: python -m bench.next_cell compares chosen cells with those of a hypercube.

Candidates are the inputs of the truth table; one that is run returns one of its cells, by the seed.
Scores are of b, c, E and ν, scaled, against means over arrangements: root mean squares over all
inputs, and over the tenth of them with the largest errors; means and standard errors over seeds.
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

import bnn
from fe_data import load_table
from figures.materials.problem import INPUT_LABELS, INPUT_SCALING, load_designs, scaled
from figures.pipeline.paths import ROOT, TRAINING

FOLDER, REPLICATES = ROOT / "fe_data" / "datasets", "noise"
OUTPUTS, BATCH, FIRST = slice(4), 5, 10
CHOSEN, DRAWN = range(FIRST, 36, BATCH), (25, 35, 50, 100)  # numbers of cells


class Simulator:
    """Cells that were simulated, in an order of its own for each input, and their means."""

    def __init__(self, path: Path, seed: int) -> None:
        tables = {"truth": load_table(path)} | load_designs(FOLDER, [REPLICATES, TRAINING])
        cells, repeated, beta = (scaled(table) for table in tables.values())
        groups, rng = tables["truth"].group, np.random.default_rng(seed)
        rows = [rng.permutation(np.flatnonzero(groups == group)) for group in np.unique(groups)]
        self.cells, self.X = [cells.y[own, OUTPUTS] for own in rows], cells.X[[r[0] for r in rows]]
        self.truth, self.beta = [y.mean(axis=0) for y in self.cells], (beta.X, beta.y[:, OUTPUTS])
        noise = bnn.HeteroscedasticNoise.from_replicates(
            repeated.X, repeated.y[:, OUTPUTS], tables[REPLICATES].group, squares=(0,)
        )
        self.noise = replace(noise, correlation=None)

    def run(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inputs and cells of runs; repeated ones return cells of different arrangements."""
        times = [np.sum(rows[:i] == row) for i, row in enumerate(rows)]
        return self.X[rows], np.array([self.cells[r][t] for r, t in zip(rows, times, strict=True)])

    def scores(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Errors over all inputs and over the worst tenth, and the runs to be made next."""
        prior = bnn.evidence.fit_prior(X, y, self.noise)
        model = bnn.ExactPosterior(prior, noise=self.noise).fit(X, y)
        squares = np.sort(((model.predict(self.X) - self.truth) ** 2).mean(axis=1))
        following = bnn.choose(
            model, self.X, BATCH, region=self.X, replicates=True, output_ranges=[2.0] * y.shape[1]
        )[0]
        return np.sqrt([squares.mean(), squares[-(len(squares) // 10) :].mean()]), following


def compare(simulator: Simulator, seed: int) -> tuple[dict[tuple[str, int], np.ndarray], list]:
    """Scores by name and number of cells, and the inputs of each round of chosen cells."""
    order, found = np.random.default_rng(seed).permutation(len(simulator.X)), {}
    for n in DRAWN:
        found["hypercube", n] = simulator.scores(*simulator.run(order[:n]))[0]
    rounds = [order[:FIRST]]
    for n in CHOSEN:
        found["chosen", n], following = simulator.scores(*simulator.run(np.concatenate(rounds)))
        rounds.append(following)
    found["beta", 0], following = simulator.scores(*simulator.beta)
    more = {("beta and chosen", BATCH): following}
    for name, rows in (more | {("beta and hypercube", n): order[:n] for n in (BATCH, 20)}).items():
        data = map(np.concatenate, zip(simulator.beta, simulator.run(rows), strict=True))
        found[name] = simulator.scores(*data)[0]
    return found, [INPUT_SCALING.inverse_transform(simulator.X[rows]) for rows in rounds[:-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=Path, default=FOLDER / "truth_cells.csv.gz")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, help="picture of where the cells of the last seed went")
    given, scores = parser.parse_args(), defaultdict(list)
    for seed in range(given.seeds):
        found, rounds = compare(Simulator(given.cells, seed), seed)
        for key, values in found.items():
            scores[key].append(values)
    if given.out:
        bnn.plots.plot_rounds(rounds, list(INPUT_LABELS.values())).savefig(given.out)
    print("| cells | number | RMSE | RMSE of the worst tenth |\n|---|---|---|---|")
    for (name, n), values in scores.items():
        errors = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
        pairs = zip(np.mean(values, axis=0), errors, strict=True)
        print(f"| {name} | {n} | {' | '.join(f'{m:.4f} ± {e:.4f}' for m, e in pairs)} |")


if __name__ == "__main__":
    main()
