"""The default of `GPRegressor` on tables of all kinds: it fits, and its intervals hold.

The kinds are crossed: rows, inputs, outputs, noise and function, 1,296 tables. They form 36 blocks
of 36 tables. In each block any two kinds of rows, noise and function meet once, and so does each of
them with each number of inputs and of outputs. The slow test takes one block, or as many as
`--blocks` says, and the fast test a few tables.
"""

import numpy as np
import pytest
from scipy.stats import binom

import bnn

ROWS = (4, 30, 100, 280, 320, 500)
INPUTS = (1, 3, 8)
OUTPUTS = (1, 2)
NOISES = ("none", "1e-6", "constant", "by input", "heavy tails", "stronger")
FUNCTIONS = {
    "linear": lambda t: t,
    "smooth": lambda t: np.sin(3.0 * t) + t**2,
    "kinked": lambda t: np.abs(t + 0.1),
    "step": lambda t: np.where(t > 0.0, 1.0, 0.0),
    "plateau": lambda t: np.clip(4.0 * t, -0.5, 0.5),
    "wave": lambda t: np.sin(12.0 * t),
}
NEW = 200  # points at which intervals are compared with data
FAST = (4, 30, 100)  # rows of the tables in the fast test
SEED = 656  # of the choice of these tables, with small noise in two of them
CHANCE = 1e-4  # probability that the intervals of a calibrated model fail


def block(number):
    """Return the tables of one of 36 blocks, which together have each table once."""
    by_noise, by_size = divmod(number, 6)
    tables = []
    for r, rows in enumerate(ROWS):
        for f, function in enumerate(FUNCTIONS):
            inputs = INPUTS[(r + 2 * f + by_size) % 3]
            outputs = OUTPUTS[(r + f // 3 + by_size // 3) % 2]
            tables.append((rows, inputs, outputs, NOISES[(r + f + by_noise) % 6], function))
    return tables


def simulated(rows, inputs, outputs, noise, function):
    """Return a table, X and y, and new rows of it."""
    names = list(FUNCTIONS)
    numbers = rows, inputs, outputs, NOISES.index(noise), names.index(function)
    rng = np.random.default_rng(numbers)
    X = rng.uniform(size=(rows + NEW, inputs))
    columns = []
    for j in range(outputs):
        # The second output is the next function, along another direction.
        t = X @ rng.uniform(0.2, 1.0, inputs)
        f = FUNCTIONS[names[(names.index(function) + j) % len(names)]](t - t[:rows].mean())
        ε = rng.standard_t(3.0, len(X)) / np.sqrt(3.0) if noise == "heavy tails" else None
        ε = rng.standard_normal(len(X)) if ε is None else ε
        sizes = {"none": 0.0, "1e-6": 1e-6, "by input": 0.01 + 0.3 * X[:, 0], "stronger": 3.0}
        columns.append(f + f.std() * sizes.get(noise, 0.1) * ε)
    y = np.column_stack(columns) if outputs > 1 else columns[0]
    return X[:rows], y[:rows], X[rows:], y[rows:]


def misses(table):
    """Return the share of new data outside their 95 % intervals."""
    X, y, new, y_new = simulated(*table)
    model = bnn.GPRegressor().fit(X, y)
    mean, std = model.predict(new, return_std=True, include_noise=True)
    assert np.isfinite(mean).all(), table
    assert np.isfinite(std).all(), table
    assert (std > 0.0).all(), table
    return np.mean(np.abs(y_new - mean) > 1.96 * std)


def check(tables):
    """Fit each table; check that the intervals miss no more data than those of calibrated models.

    The misses of one table depend on each other: at most, all data are missed or none. The share of
    misses of n tables then is binomial, with the probability 0.05. Less dependence leaves a
    narrower distribution.
    """
    shares = [misses(table) for table in tables]
    most = binom.isf(CHANCE, len(shares), 0.05) / len(shares)
    assert np.mean(shares) <= most, list(zip(tables, shares, strict=True))


def test_tables_are_crossed():
    """The blocks have each table once; in a block all pairs of kinds occur."""
    every = [table for number in range(36) for table in block(number)]
    sizes = np.array([len(ROWS), len(INPUTS), len(OUTPUTS), len(NOISES), len(FUNCTIONS)])
    assert len(every) == len(set(every)) == sizes.prod()
    for number in range(36):
        for i in range(5):
            for j in range(i):
                pairs = {(table[i], table[j]) for table in block(number)}
                assert len(pairs) == sizes[i] * sizes[j]


@pytest.mark.usefixtures("few_draws")
def test_the_default_on_a_few_tables():
    """One random table for each number of rows in FAST."""
    every = [table for number in range(36) for table in block(number)]
    rng = np.random.default_rng(SEED)
    numbers = [rng.choice([i for i in range(len(every)) if every[i][0] == rows]) for rows in FAST]
    check([every[i] for i in numbers])


@pytest.mark.slow
@pytest.mark.parametrize("rows", ROWS)
def test_the_default_on_all_kinds_of_tables(rows, pytestconfig):
    blocks = pytestconfig.getoption("blocks")
    check([table for number in range(blocks) for table in block(number) if table[0] == rows])


@pytest.mark.slow
def test_a_linear_function_with_almost_no_noise_of_many_rows():
    """Between the sizes of the table: its own noise was too small for the prior."""
    assert misses((420, 6, 1, "1e-6", "linear")) < 0.2
