"""Categories as one-hot columns, or as a kernel: python -m studies.categories [--seeds 5].

The kernel has compound symmetry: two different categories of an input have the correlation
exp(-1 / l). One-hot columns with a common length scale L are equivalent, because they multiply a
squared exponential kernel by exp(-1 / L²). With one length scale per column the factor of
categories i and j is exp(-1 / 2L_i² - 1 / 2L_j²). The data have no noise. Errors are relative to
the standard deviation of the function.

Source: the beam of Saves, Diouane, Bartoli, Lefebvre & Morlier (2023), Neurocomputing 550, and the
cosine of Roustant et al. (2020), SIAM/ASA Journal on Uncertainty Quantification 8, both as
implemented in SMT; the Goldstein function of Pelamatti et al. (2019), Journal of Global
Optimization 73.
"""

import argparse
import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc
from sklearn.preprocessing import OneHotEncoder

import bnn

INERTIA = np.array(
    [0.0833, 0.139, 0.380, 0.0796, 0.133, 0.363, 0.0859, 0.136, 0.360, 0.0922, 0.138, 0.369]
)


def beam(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the deflection of a cantilever [m] with one of twelve cross-sections."""
    length, surface = 10.0 + 10.0 * x[:, 0], 1.0 + x[:, 1]
    return 5e4 * length**3 / (3.0 * 2e11 * surface**2 * INERTIA[z[:, 0]])


def cosine(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return one of thirteen cosines, which form two groups with different phases."""
    u = z[:, 0] + 1
    shift = np.where(u > 9, np.pi * (0.4 + u / 15.0), 0.0) - u / 20.0
    return np.cos(3.5 * np.pi * x[:, 0] + shift)


def goldstein(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return a polynomial of four inputs, two of which have three values each."""
    a, b = 100.0 * x.T
    c, d = 20.0 + 30.0 * z.T
    linear = 53.3108 + 0.184901 * a - 0.0870775 * b - 0.106959 * c + 0.00242482 * d
    powers = -5.02914e-6 * a**3 + 7.72522e-8 * a**4 + 7.98772e-6 * c**3 + 1.32851e-6 * d**3
    pairs = -0.00146393 * a * b - 0.00301588 * a * c - 0.00272291 * a * d + 0.0017004 * b * c
    pairs += 0.0038428 * b * d - 0.000198969 * c * d
    triples = 1.86025e-5 * a * b * c - 1.88719e-6 * a * b * d
    triples += 2.50923e-5 * a * c * d - 5.62199e-5 * b * c * d
    return linear + powers + pairs + triples


# Function, number of numerical inputs, number of categories per input, sizes of training sets
PROBLEMS = {
    "beam": (beam, 2, [12], (30, 60, 120)),
    "cosine": (cosine, 1, [13], (30, 60, 120)),
    "Goldstein": (goldstein, 2, [3, 3], (20, 40, 80)),
}


@dataclass(repr=False)
class CompoundSymmetry(bnn.Kernel):
    """The product of exp(-1 / l_i) over the categorical (last) inputs in which points differ."""

    lengths: tuple = (1.0,)

    def _evaluate(self, A, B):
        n = len(self.lengths)
        differ = A[:, None, -n:] != B[None, :, -n:]
        return np.exp(-(differ @ (1.0 / np.array(self.lengths))))

    def diag(self, X):
        """Return ones."""
        return np.ones(len(X))


def shown(X: np.ndarray, sizes: list[int]) -> np.ndarray:
    """Return the numerical inputs, and one column of zeros and ones per category."""
    n = X.shape[1] - len(sizes)
    encoder = OneHotEncoder(categories=[range(size) for size in sizes], sparse_output=False)
    return np.hstack([X[:, :n], encoder.fit_transform(X[:, n:])])


def one_hot(X, y, X_new, sizes, prior=None):
    """Return mean and standard deviation of `GPRegressor` with one-hot columns."""
    model = bnn.GPRegressor(prior, noise=0.0).fit(shown(X, sizes), y)
    return model.predict(shown(X_new, sizes), return_std=True)


def one_hot_rbf(X, y, X_new, sizes):
    """Return mean and standard deviation with an RBF kernel and one length scale per column."""
    return one_hot(X, y, X_new, sizes, bnn.GaussianProcessPrior(y.mean(), bnn.RBF(None, None)))


def compound_symmetry(X, y, X_new, sizes):
    """Return mean and standard deviation with an RBF kernel times the kernel of the categories."""
    lengthscales = (None,) * (X.shape[1] - len(sizes)) + (np.inf,) * len(sizes)
    kernel = bnn.RBF(None, lengthscales) * CompoundSymmetry((None,) * len(sizes))
    prior = bnn.GaussianProcessPrior(y.mean(), kernel)
    return bnn.GPRegressor(prior, noise=0.0).fit(X, y).predict(X_new, return_std=True)


METHODS = (one_hot, one_hot_rbf, compound_symmetry)


def table(function, n_numbers: int, sizes: list[int], n: int, seed: int):
    """Return the inputs of n runs, with equally frequent categories, and the function values."""
    rng = np.random.default_rng(seed)
    x = qmc.LatinHypercube(n_numbers, seed=rng).random(n)
    z = np.column_stack([rng.permutation(np.arange(n) % size) for size in sizes])
    return np.hstack([x, z]), function(x, z)


def main() -> None:
    """Print error and coverage of each method and size, and error ratios to one-hot columns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name, (function, n_numbers, sizes, n_runs) in PROBLEMS.items():
        for n in n_runs:
            scores: dict[str, list[tuple[float, float, float]]] = {
                method.__name__: [] for method in METHODS
            }
            for seed in range(options.seeds):
                X, y = table(function, n_numbers, sizes, n, seed)
                X_new, reference = table(function, n_numbers, sizes, 600, 1000 + seed)
                for method in METHODS:
                    start = time.perf_counter()
                    mean, std = method(X, y, X_new, sizes)
                    seconds = time.perf_counter() - start
                    inside = bnn.metrics.coverage(reference, mean, std)
                    error = bnn.metrics.rmse(reference, mean) / reference.std()
                    scores[method.__name__].append((np.log(error), inside, seconds))
            logs = {label: np.array(rows)[:, 0] for label, rows in scores.items()}
            for label, rows in scores.items():
                error, inside, seconds = np.mean(rows, axis=0)
                ratios = logs[label] - logs["one_hot"]
                spread = ratios.std(ddof=1) / np.sqrt(len(ratios)) if len(ratios) > 1 else np.nan
                ratio = f"log ratio to one_hot {ratios.mean():+.2f} ± {spread:.2f}"
                share = f"inside 95 % {inside:.2f}, {seconds:.1f} s"
                print(
                    f"{name}, {n}, {label}: error {np.exp(error):.4f}, {ratio}, {share}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
