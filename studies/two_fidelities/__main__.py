"""Few expensive and many cheap runs: python -m studies.two_fidelities [--seeds 5] [--smt].

A Gaussian process fitted to the cheap runs is the prior mean for the expensive runs. Errors are
relative to the standard deviation of the expensive function, and coverage is that of 95 % intervals
for this function.

With --rves FOLDER the cheap runs are 100 RVEs with a coarse mesh, and the expensive runs are 12
RVEs with the default mesh. Both are simulated in FOLDER. Error and coverage are then averaged over
the outputs, and are computed for the shipped RVEs, which have the default mesh. The cost of an RVE
is its processor time.

Source: functions of Forrester, Sobester & Keane (2007), Proceedings of the Royal Society A 463,
and Xiong, Qian & Wu (2013), Technometrics 55.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.stats import qmc

import bnn
import fe_data


def forrester(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the expensive and the cheap function of one input in [0, 1]."""
    x = X[:, 0]
    fine = (6.0 * x - 2.0) ** 2 * np.sin(12.0 * x - 4.0)
    return fine, 0.5 * fine + 10.0 * (x - 0.5) - 5.0


def currin(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the expensive function of two inputs in [0, 1], and its mean over four neighbours."""

    def fine(x, z):
        numerator = 2300.0 * x**3 + 1900.0 * x**2 + 2092.0 * x + 60.0
        decay = 1.0 - np.exp(-0.5 / np.maximum(z, 1e-12))
        return decay * numerator / (100.0 * x**3 + 500.0 * x**2 + 4.0 * x + 20.0)

    x, z = X.T
    below = np.maximum(z - 0.05, 0.0)
    cheap = fine(x + 0.05, z + 0.05) + fine(x + 0.05, below)
    return fine(x, z), (cheap + fine(x - 0.05, z + 0.05) + fine(x - 0.05, below)) / 4.0


BOREHOLE = np.array(
    [
        [0.05, 0.15],
        [100.0, 50000.0],
        [63070.0, 115600.0],
        [990.0, 1110.0],
        [63.1, 116.0],
        [700.0, 820.0],
        [1120.0, 1680.0],
        [9855.0, 12045.0],
    ]
)


def borehole(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the flow through a borehole for eight inputs in [0, 1], and a cheap approximation."""
    rw, r, Tu, Hu, Tl, Hl, L, Kw = (BOREHOLE[:, 0] + X * np.ptp(BOREHOLE, axis=1)).T
    logs = np.log(r / rw)
    leak = 2.0 * L * Tu / (logs * rw**2 * Kw)
    flow = Tu * (Hu - Hl) / logs
    return 2.0 * np.pi * flow / (1.0 + leak + Tu / Tl), 5.0 * flow / (1.5 + leak + Tu / Tl)


# Function, number of inputs, numbers of expensive and of cheap runs
PROBLEMS = {
    "Forrester": (forrester, 1, 5, 15),
    "Currin": (currin, 2, 12, 60),
    "borehole": (borehole, 8, 20, 120),
}


# Shipped tables of RVEs with the default mesh, and elements per fibre diameter of the coarse mesh
TEST = ("test_uniform", "train_uniform")
COARSE = 2.5


def with_cheap(fine, cheap, X_new):
    """Return mean and standard deviation from both tables."""
    below = bnn.GPRegressor(noise=0.0).fit(*cheap)
    return bnn.GPRegressor(mean=below, noise=0.0).fit(*fine).predict(X_new, return_std=True)


def expensive_alone(fine, _, X_new):
    """Return mean and standard deviation from the expensive runs only."""
    return bnn.GPRegressor(noise=0.0).fit(*fine).predict(X_new, return_std=True)


def cheap_alone(_, cheap, X_new):
    """Return mean and standard deviation from the cheap runs only."""
    return bnn.GPRegressor(noise=0.0).fit(*cheap).predict(X_new, return_std=True)


def smt_mfk(fine, cheap, X_new):
    """Return mean and standard deviation of SMT's MFK, fitted to both tables."""
    from smt.applications import MFK

    X, y = fine
    X_cheap, y_cheap = cheap
    model = MFK(print_global=False, seed=0, theta0=[1.0] * X.shape[1])
    model.set_training_values(X_cheap, y_cheap[:, None], name=0)
    model.set_training_values(X, y[:, None])
    model.train()
    variances = np.maximum(model.predict_variances(X_new)[:, 0], 0.0)
    return model.predict_values(X_new)[:, 0], np.sqrt(variances)


def rves(folder: Path, n_coarse: int = 100, n_fine: int = 12, timed: int = 10) -> None:
    """Print the cost of RVEs of both meshes, and error and coverage of each method.

    Args:
        folder: Folder for the simulations; existing samples are reused.
        n_coarse: Number of RVEs of the coarse mesh.
        n_fine: Number of RVEs of the default mesh.
        timed: Number of RVEs of each mesh whose processor time is measured.
    """
    tables = []
    for name, count, seed, resolution in (
        ("coarse", n_coarse, 1, COARSE),
        ("fine", n_fine, 2, None),
    ):
        design = fe_data.named_design("train_uniform", seed=seed, count=count)
        settings = fe_data.Settings(resolution=resolution)
        fe_data.generate(design, settings, folder / name)
        tables.append(fe_data.load_table(folder / name / "dataset.csv"))
        samples = [design.sample(i) for i in range(timed)]
        fe_data.solve_rve(samples[0].inputs, settings, seed=samples[0].seed)  # loads compiled code
        start = time.process_time()
        for sample in samples:
            fe_data.solve_rve(sample.inputs, settings, seed=sample.seed)
        print(f"{name}: {(time.process_time() - start) / timed:.2f} s for one RVE")
    cheap, fine = ((table.inputs, table.outputs) for table in tables)
    truth = [fe_data.load_table(fe_data.shipped_table(name)) for name in TEST]
    X_new = np.vstack([table.inputs for table in truth])
    y_new = np.vstack([table.outputs for table in truth])
    below = bnn.GPRegressor().fit(*cheap)
    models = {
        # The noise, which is the scatter between microstructures, is taken from the cheap RVEs.
        "both": bnn.GPRegressor(mean=below, noise=below.noise_).fit(*fine),
        "fine alone": bnn.GPRegressor().fit(*fine),
        "coarse alone": below,
    }
    for name, model in models.items():
        m, s = model.predict(X_new, return_std=True, include_noise=True)
        errors = np.sqrt(np.mean((y_new - m) ** 2, axis=0)) / y_new.std(axis=0)
        inside = f"inside 95 % {bnn.metrics.coverage(y_new, m, s):.2f}"
        print(f"{name}: error {errors.mean():.3f} ({errors.round(3)}), {inside}")


def main() -> None:
    """Print error and coverage of each method on each problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--problems", nargs="*", choices=PROBLEMS, default=[*PROBLEMS])
    parser.add_argument("--smt", action="store_true", help="also SMT's MFK: pip install smt")
    parser.add_argument("--rves", type=Path, help="RVEs in this folder, not --problems")
    options = parser.parse_args()
    if options.smt and find_spec("smt") is None:
        parser.error("--smt: SMT is not installed: pip install smt")
    warnings.filterwarnings("ignore")
    if options.rves:
        rves(options.rves)
        return
    methods = [with_cheap, expensive_alone, cheap_alone, *([smt_mfk] if options.smt else [])]
    for name in options.problems:
        function, n_in, n_fine, n_cheap = PROBLEMS[name]
        scores: dict[Callable, list[tuple[float, float, float]]] = {m: [] for m in methods}
        for seed in range(options.seeds):
            designs = [qmc.LatinHypercube(n_in, seed=3 * seed + i) for i in range(3)]
            X, X_cheap, X_new = (
                d.random(n) for d, n in zip(designs, (n_fine, n_cheap, 500), strict=True)
            )
            truth = function(X_new)[0]
            tables = (X, function(X)[0]), (X_cheap, function(X_cheap)[1])
            for method in methods:
                start = time.perf_counter()
                m, s = method(*tables, X_new)
                seconds = time.perf_counter() - start
                inside = bnn.metrics.coverage(truth, m, s)
                scores[method].append((bnn.metrics.rmse(truth, m) / truth.std(), inside, seconds))
        for method, rows in scores.items():
            error, inside, seconds = np.mean(rows, axis=0)
            share = f"inside 95 % {inside:.2f}"
            print(f"{name}, {method.__name__}: error {error:.4f}, {share}, {seconds:.1f} s")


if __name__ == "__main__":
    main()
