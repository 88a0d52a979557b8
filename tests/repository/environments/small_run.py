"""A small run of everything that published results rest on, as one hash for each part.

    python -m tests.repository.environments.small_run --workers 2 posterior rve

prints the hashes as JSON. Parts are independent of each other; workers are processes.
"""

import argparse
import hashlib
import json
from collections.abc import Callable
from functools import partial

import numpy as np

import bnn


def digest(*arrays: object) -> str:
    """Hash of every bit of the arrays."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()[:16]


def functions() -> str:
    """Elementary functions and sums of NumPy and PyTorch, in both precisions."""
    import torch

    # np.tanh and torch.sqrt have no place here: no result rests on them, the emulator returns
    # infinite values of the first, and the second depends on the vendor of the processor.
    x = 3.0 * np.random.default_rng(0).normal(size=20_000)
    hashes = []
    for kind in (np.float64, np.float32):
        values = x.astype(kind)
        positive = np.abs(values)
        tensor = torch.from_numpy(values)
        square = tensor.reshape(-1, 50)
        hashes += [
            np.exp(values),
            np.sin(values),
            np.log(positive),
            np.sqrt(positive),
            values.sum(),
        ]
        hashes += [tensor.exp(), tensor.sin(), tensor.tanh(), torch.from_numpy(positive).log()]
        hashes += [torch.from_numpy(positive).rsqrt(), torch.from_numpy(positive) ** 0.3]
        hashes += [tensor.sum(), square.sum(0), square.sum(1), values.reshape(-1, 50).sum(0)]
    return digest(*hashes)


def algebra() -> str:
    """Products and factorisations of NumPy, SciPy and PyTorch."""
    import scipy.linalg
    import torch

    Z = np.random.default_rng(0).normal(size=(300, 150))
    S = Z.T @ Z + np.eye(150)
    tensor = torch.from_numpy(S)
    return digest(
        S,
        Z @ Z.T,
        Z @ Z[0],
        np.linalg.cholesky(S),
        np.linalg.svd(Z)[1],
        np.linalg.eigh(S)[1],
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(S), Z.T),
        torch.linalg.cholesky(tensor),
        torch.linalg.solve(tensor, tensor[:5].T),
        tensor @ tensor,
        tensor.float() @ tensor.float(),
    )


PRIOR = bnn.GaussianProcessPrior(bnn.LinearMean([2.0]), bnn.RBF(1.0, 0.1))
X = np.linspace(-1.0, 1.0, 20)[:, None]
Y = np.sin(3.0 * X[:, 0])


def realisations() -> str:
    """Realisations of a functional prior."""
    return digest(PRIOR.sample(np.linspace(-2.0, 2.0, 200)[:, None], 20, 0))


def ensemble() -> str:
    """Pre-trained networks, and an ensemble anchored to them."""
    settings = bnn.Pretraining(
        n_networks=12, n_points=100, training=bnn.TrainingSettings(epochs=30)
    )
    pretrained = bnn.pretrain(
        PRIOR,
        n_features=1,
        network=bnn.Architecture((20, 20)),
        settings=settings,
        scaling=bnn.Scaling(inputs=None, outputs=None),
        random_state=0,
    )
    anchored = bnn.train_anchored(
        pretrained,
        X,
        Y,
        noise=0.1,
        n_members=6,
        anchoring=bnn.Anchoring("low_rank", resampling="bootstrap"),
        training=bnn.TrainingSettings(epochs=60),
        random_state=0,
    )
    return digest(pretrained.weights, pretrained.losses, anchored.sample(X))


def function_space() -> str:
    """An ensemble anchored in function space, which is fitted by Gauss-Newton."""
    model = bnn.FunctionAnchoredEnsemble(
        PRIOR,
        n_members=2,
        noise=0.1,
        network=bnn.Architecture((6,), "tanh"),
        anchoring=bnn.FunctionAnchoring(max_iter=10),  # it takes minutes in the emulator
        random_state=0,
    )
    return digest(model.fit(X, Y).sample(X))


def paths() -> str:
    """Stress of material points along a strain path, and a gradient by their strain."""
    import torch

    from bnn.paths.return_mapping import Matrix
    from studies.path_surrogates.rve_stress import deviatoric_stress

    random = np.random.default_rng(0).normal(size=(10, 20, 3))
    strain = torch.from_numpy(0.01 * random).requires_grad_()
    points = torch.ones(20, dtype=torch.float64)
    stress = deviatoric_stress(strain, Matrix(3e4 * points, 200 * points, 400 * points, points / 3))
    stress.square().sum().backward()
    return digest(stress.detach(), strain.grad)


def posterior() -> str:
    """The exact posterior of a Gaussian process whose kernel and noise are estimated."""
    model = bnn.GPRegressor().fit(X, Y)
    return digest(*model.predict(X, return_std=True))


def line_through_zero(X: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Straight lines, as a model with one parameter."""
    return slope * X[:, 0]


def tutorials() -> str:
    """The models of the tutorials on few points: heavy tails, a formula as prior or as its mean."""
    from scipy import stats

    robust = bnn.GPRegressor(noise="student_t").fit(X[::2], Y[::2] + (X[::2, 0] > 0.9))
    prior = bnn.SamplerPrior(line_through_zero, {"slope": stats.uniform(1.0, 3.0)})
    check = bnn.check_prior(prior, X, Y, noise=0.1, random_state=0)
    with_mean = bnn.evidence.fit_prior(X, Y, 0.1, mean=partial(line_through_zero, slope=3.0))
    corrected = bnn.GPRegressor(with_mean, noise=0.1).fit(X, Y)
    return digest(robust.predict(X), check.p_value, corrected.predict(X))


def rve() -> str:
    """Stress and plastic strain of a small RVE."""
    from fe_data import Inputs, Settings, solve_rve

    settings = Settings(n_fibres=2, resolution=2.0, increments=6)
    solved = solve_rve(Inputs(0.2, 400.0, 400.0, 0.4), settings, seed=0, silent=True)
    return digest(solved.history["stress"], solved.history["plastic_strain"])


def general_solver() -> str:
    """Stress of an RVE with a plastic matrix, and effective constants."""
    from fe_data import (
        Loading,
        Microstructure,
        effective_constants,
        named_phases,
        solve_composite,
    )

    fibres = Microstructure([[0.3, 0.3], [0.75, 0.7]], [0.15, 0.2])
    shear = Loading((0.004, None, None, None, 0.004, None))
    phases = named_phases("glass_epoxy")
    solved = solve_composite(phases, fibres, shear, increments=4, resolution=3.0, silent=True)
    constants = effective_constants(phases, fibres, resolution=3.0)
    return digest(solved.history["stress"], constants.stiffness_GPa)


def strength() -> str:
    """Stress of an RVE whose fibre debonds from a matrix that breaks, past the peak."""
    from fe_data import Loading, Microstructure, named_phases, solve_composite

    phases = named_phases("glass_epoxy_ly556_breaking")
    tension = Loading((0.009, None, None, 0.0, 0.0, 0.0))
    fibre = Microstructure([[0.5, 0.5]], 0.25)
    solved = solve_composite(phases, fibre, tension, increments=12, resolution=10.0, silent=True)
    return digest(solved.history["stress"])


PARTS: dict[str, Callable[[], str]] = {
    probe.__name__: probe
    for probe in (
        functions,
        algebra,
        realisations,
        ensemble,
        function_space,
        paths,
        posterior,
        tutorials,
        rve,
        general_solver,
        strength,
    )
}


def hashed(name: str) -> str:
    """The hash of one part, by name."""
    return PARTS[name]()


def main() -> None:
    """Print the hashes of parts, by default of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--workers", type=int, default=0, help="0: in this process")
    options = parser.parse_args()
    names = options.parts or [*PARTS]
    if options.workers:
        from fe_data.dataset.executors import process_pool

        # Of the module by its name: a worker cannot import what runs as __main__.
        from tests.repository.environments.small_run import hashed as of_part

        hashes = list(process_pool(options.workers).map(of_part, names))
    else:
        hashes = [hashed(name) for name in names]
    print(json.dumps(dict(zip(names, hashes, strict=True))))


if __name__ == "__main__":
    main()
