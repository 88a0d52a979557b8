"""Valid calls of all that is public: with wrong arguments, and with arrays that are overwritten."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import ModuleType
from typing import Any

import numpy as np
from scipy import stats

import bnn
from bnn import metrics
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.ensembles.members import Networks
from bnn.ensembles.weight_priors import WeightPrior
from bnn.regressor import PredictiveRegressor
from tests.bnn.small import small
from tests.wrong_arguments import arguments

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (8, 2))
Y = np.column_stack([X[:, 0] + 0.1 * RNG.standard_normal(8), RNG.standard_normal(8)])
NEW = RNG.uniform(-1.0, 1.0, (3, 2))
SAMPLES = Y + RNG.standard_normal((5, 8, 2))
ONCE = bnn.TrainingSettings(epochs=1)
NETWORK = bnn.MLP((2, 3, 2), "silu")
D = NETWORK.n_weights
WEIGHTS = RNG.standard_normal((4, D)).astype(np.float32)
TABLE = RNG.standard_normal((3, 8, 2))
PRIOR = bnn.GaussianProcessPrior(n_outputs=2)
EXACT = bnn.GPRegressor(PRIOR, noise=0.1).fit(X, Y)
COMPONENTS = bnn.PrincipalComponents(np.zeros(2), np.eye(2), np.eye(2))
UNIT = bnn.BoundsScaler(-np.ones(2), np.ones(2))
DENSITY = bnn.IsotropicGaussian(1.0, D)
BY_INPUT = bnn.HeteroscedasticNoise(0.1 * np.ones((4, 2)), squares=(0,))
BRIEF = bnn.Pretraining(4, 10, training=ONCE)
PRETRAINED = bnn.pretrain(
    PRIOR, X, network=bnn.Architecture((3,), "silu"), settings=BRIEF, random_state=0
)
MEMBERS = small(bnn.VanillaEnsemble, network__hidden=(3,)).fit(X, Y).members_
# Default argument for each parameter name.
VALUES = {
    "A": X,
    "B": X,
    "X": X,
    "Y": X,
    "alpha": np.array(1.5),
    "anchoring": bnn.Anchoring(resampling="none"),
    "architecture": NETWORK,
    "bounds": np.array([[0.0, 1.0], [-1.0, 2.0]]),
    "candidates": X,
    "coefficients": np.eye(2),
    "costs": np.arange(1.0, 9.0),
    "correlation": np.eye(2),
    "covariance": np.eye(2),
    "directions": np.eye(D)[:, :3],
    "estimator": bnn.GPRegressor(PRIOR, noise=0.1),
    "active_dims": (0, 1),
    "df": 4.0,
    "function": lambda X, *_, **__: X,
    "groups": np.arange(8),
    "high": np.array([1.0, 2.0]),
    "min_gain": 0.01,
    "lengthscale": np.array([1.0, 2.0]),
    "output_bounds": (None, np.array([50.0, 60.0])),
    "low": np.array([0.0, 1.0]),
    "mean": Y + 0.1,
    "model": EXACT,
    "n": 2,
    "n_data": 20,
    "n_features": 2,
    "n_inputs": 2,
    "n_members": 3,
    "n_networks": 4,
    "n_outputs": 2,
    "n_samples": 2,
    "n_weights": D,
    "network": bnn.Architecture((3,), "silu"),
    "noise": np.diag([0.01, 0.04]),
    "noise_std": np.full((8, 2), 0.1),
    "noise_variance": 1.0,
    "other": 2.0,
    "output": 0,
    "output_ranges": (1.0, 2.0),
    "output_weights": np.array([1.0, 0.5]),
    "pending": X[:1],
    "period": np.array(2.5),
    "pretrained": PRETRAINED,
    "pretraining": BRIEF,
    "prior": PRIOR,
    "random_state": 0,
    "realisations": 20,
    "region": X,
    "regulariser": "factorised",
    "resampling": "none",
    "restarts": 0,
    "sample_weight": np.arange(1.0, 9.0),
    "samples": SAMPLES,
    "scaling": bnn.Scaling((-1.0, 1.0), "data"),
    "scores": Y,
    "settings": BRIEF,
    "singular_values": np.arange(1.0, 4.0),
    "squares": (0,),
    "std": np.ones((8, 2)),
    "training": ONCE,
    "values": X,
    "variance": np.array(2.0),
    "weights": WEIGHTS,
    "widths": (2, 3, 1),
    "y": Y,
}
ZERO = np.zeros(D)
ONES = np.ones(D)
FORM = {"intercept": True, "coefficient_variance": 1.0, "mean_features": (0,)}
FUNCTIONS = bnn.FunctionAnchoring(5, 0.01, max_iter=1, n_realisations=20)
SPECIAL_CALLS = {
    "FunctionAnchoredEnsemble": {"anchoring": FUNCTIONS},
    "train_function_anchored": {"anchoring": FUNCTIONS},
    "PrincipalComponents": {"mean": np.zeros(2), "vectors": np.eye(2), "residual": np.eye(2)},
    "GPRegressor": {"mean": None},
    "GaussianProcessPrior": {"mean": 0.0, "kernel": bnn.RBF(), "bounds": (-1.0, 1.0)},
    "MixturePrior": {
        "components": [bnn.GaussianProcessPrior(kernel=bnn.RBF(v)) for v in (1.0, 2.0)],
        "weights": np.array([0.3, 0.7]),
    },
    "SamplerPrior": {"parameters": {"a": stats.norm(0.0, 1.0)}},
    "TablePrior": {"points": X, "values": TABLE, "interpolation": "nearest"},
    "RandomMean": {"function": lambda X, _: X[:, 0]},
    "LinearMean": {"intercept": np.ones(2)},
    "sensitivity": {"n": 32},
    "evidence.fit_prior": {"mean": None, "prior": None},
    "evidence.fit_noise": {"mean": lambda X: X, **FORM},
    "evidence.fit_heteroscedastic_noise": FORM,
    "evidence.fit_kernel_average": {"noise": "gaussian"},
    "evidence.lengthscales": {"prior": bnn.GaussianProcessPrior()},
    "Scaling": {"inputs": (-1.0, 1.0)},
    "HeteroscedasticNoise": {
        "coefficients": BY_INPUT.coefficients,
        "squares": np.array([0]),
        "bounds": (-np.ones(2), np.ones(2)),
    },
    "HeteroscedasticNoise.from_replicates": {
        "X": X.repeat(2, axis=0),
        "y": RNG.standard_normal((16, 2)),
        "groups": np.arange(8).repeat(2),
    },
    "Linear": {
        "variance": np.ones(2),
        "offset": np.array(0.5),
        "origin": np.array([0.1, 0.2]),
        "reach": np.array([0.6, 0.7]),
        "bends": np.array([0.3, 0.4]),
        "ends": np.array([0.4, 0.5]),
    },
    "Warped": {
        "kernel": bnn.RBF(),
        "low": np.zeros(2),
        "width": np.ones(2),
        "warps": np.array([1.0, -1.0]),
        "mixing": np.full((2, 2), 0.1),
    },
    "FactorisedGaussian": {"mean": ZERO, "variance": ONES},
    "FactorisedGeneralisedNormal": {"mean": ZERO, "alpha": ONES, "beta": ONES},
    "IsotropicGaussian": {"variance": 1.0},
    "LowRankGaussian": {"mean": ZERO},
    "ProbabilisticPCA": {"mean": ZERO, "deviations": np.arange(1.0, 4.0)},
    "Pretrained.select": {"members": [0, 1]},
}
OTHERS = [
    EXACT.predict,
    EXACT.predict_gradient,
    EXACT.elppd,
    EXACT.joint_moments,
    EXACT.sample,
    COMPONENTS.transform,
    COMPONENTS.inverse_transform,
    bnn.PrincipalComponents.fit,
    PRIOR.sample,
    PRIOR.covariance,
    PRIOR.covariances,
    PRIOR.mean_values,
    bnn.TablePrior(X, TABLE, "nearest").sample,
    bnn.LinearMean(np.eye(2)).__call__,
    BY_INPUT.__call__,
    BY_INPUT.log_slopes,
    bnn.HeteroscedasticNoise.from_replicates,
    bnn.Architecture((3,)).mlp,
    DENSITY.sample,
    DENSITY.log_prob,
    bnn.LowRankGaussian.fit,
    NETWORK.initial_weights,
    bnn.BoundsScaler.fit,
    UNIT.transform,
    UNIT.inverse_transform,
    UNIT.transform_covariance,
    bnn.RBF().diag,
    bnn.RBF().__mul__,
    bnn.Linear().diag,
    PRETRAINED.sample,
    PRETRAINED.select,
    PRETRAINED.weight_prior,
    small(bnn.AnchoredEnsemble, PRETRAINED).fit(X, Y).sample_prior,
]


@dataclass(eq=False)
class OwnPrior(bnn.FunctionPrior):
    """Lines of random slope."""

    def _draw(self, X, n_samples, random_state):
        slopes = np.random.default_rng(random_state).normal(size=(n_samples, 1))
        return (slopes * X[:, 0])[:, :, None]


@dataclass(repr=False, eq=False)
class OwnKernel(bnn.Kernel):
    """Lines of random slope."""

    def _evaluate(self, A, B):
        return np.outer(A[:, 0], B[:, 0])

    def diag(self, X):
        return X[:, 0] ** 2


class OwnStationary(bnn.Stationary):
    """Of Wendland, zero from r = 1 on."""

    c_code = (
        "double s = q < 1.0 ? 1.0 - sqrt(q) : 0.0; "
        "phi = s * s * s * s * (5.0 - 4.0 * s); slope = -10.0 * s * s * s;"
    )

    def _correlation(self, q, derivative):
        s = np.maximum(1.0 - np.sqrt(q), 0.0)
        return s**4 * (5.0 - 4.0 * s), -10.0 * s**3 if derivative else None


# Bases are called by what derives from them.
DERIVED = {"FunctionPrior": OwnPrior, "Kernel": OwnKernel, "Stationary": OwnStationary}


def pretrain_ensemble(X, n_features):
    return small(bnn.AnchoredEnsemble, PRIOR).pretrain(X, n_features=n_features).pretrained_


def fit(noise_std, sample_weight):
    about_data = {"noise_std": noise_std, "sample_weight": sample_weight}
    return bnn.GPRegressor(PRIOR, noise=0.1).fit(VALUES["X"], Y, **about_data)


def kernel(X, Y):
    return bnn.RBF()(X, Y)


OTHERS += [fit, kernel, pretrain_ensemble]


@dataclass(frozen=True)
class Call:
    """A function or class with valid arguments.

    An estimator is fitted to X and y.
    """

    function: Callable[..., Any]
    arguments: dict[str, Any]

    def make(self, **settings):
        """Return the result, for some values other than those of `arguments`."""
        values = self.arguments | settings
        if is_estimator(self.function):
            data = [values.pop(name) for name in ("X", "y")]
            return self.function(**values).fit(*data)
        return self.function(**values)

    def run(self, **changed):
        """Make the result and ask it."""
        return answers(self.make(**changed))


def parts(value):
    """The fields of a dataclass, as its arguments."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def is_estimator(function):
    return inspect.isclass(function) and issubclass(function, PredictiveRegressor)


def answers(made):
    """Predictions of an object, or copies of its arrays."""
    if isinstance(made, PredictiveRegressor):
        drawn = {"n_samples": 2, "random_state": 0}
        options = {} if isinstance(made, EnsembleRegressor) else drawn
        return [
            *made.predict(NEW, return_cov=True, include_noise=True),
            made.sample(NEW, **options),
        ]
    if isinstance(made, bnn.FunctionPrior):
        return [made.sample(X, 3, 0), made.sample(X[:4], 3, 0)]
    if isinstance(made, WeightPrior):
        return [made.sample(3, 0), made.log_prob(WEIGHTS)]
    if isinstance(made, bnn.Kernel):
        return [made(NEW, X), made.diag(NEW)]
    if isinstance(made, bnn.LinearMean | bnn.HeteroscedasticNoise):
        return [made(NEW)]
    if isinstance(made, bnn.RandomMean):
        return [bnn.GaussianProcessPrior(made).sample(X, 2, 0)]
    if isinstance(made, bnn.StudentNoise):
        return [np.array(metrics.elppd(Y, SAMPLES, made))]
    if isinstance(made, bnn.PrincipalComponents):
        scores = made.transform(Y)
        return [scores, made.inverse_transform(scores)]
    if isinstance(made, bnn.BoundsScaler):
        return [made.transform(X), made.centre, made.half_range]
    said = [made.sample(NEW)] if isinstance(made, Networks) else []
    held = vars(made).values() if hasattr(made, "__dict__") else []
    return said + [value.copy() for value in held if isinstance(value, np.ndarray)]


def public():
    """Public functions and classes by name, those of public modules too, without warnings."""
    calls = {}
    for name in bnn.__all__:
        value = getattr(bnn, name)
        if isinstance(value, ModuleType):
            for key, member in vars(value).items():
                home = str(getattr(member, "__module__", ""))
                if key[0] != "_" and home.startswith(value.__name__):
                    calls[f"{name}.{key}"] = member
        else:
            calls[name] = value
    return {
        name: value
        for name, value in calls.items()
        if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception))
    }


def kinds_of(base):
    """Names of the public classes that derive from a base."""
    return [
        name
        for name, value in public().items()
        if inspect.isclass(value) and issubclass(value, base) and name not in DERIVED
    ]


def name_of(function):
    """Name of a function, or of a method with its class."""
    owner = getattr(function, "__self__", None)
    kind = owner if inspect.isclass(owner) else type(owner)
    return function.__name__ if owner is None else f"{kind.__name__}.{function.__name__}"


def call_of(name, function):
    data = {"X": X, "y": Y} if is_estimator(function) else {}
    return Call(function, data | arguments(function, VALUES) | SPECIAL_CALLS.get(name, {}))


# Noise, files and networks made of their parts are in test_arguments.py; paths and pictures have
# tests of their own; the others make results.
ELSEWHERE = {"Campaign", "load", "Members", "Pretrained", "PriorCheck", "Sensitivity"}
MODULES = ("noise.", "export.", "interop.", "paths.", "plots.")
CALLED = public() | DERIVED | {name_of(function): function for function in OTHERS}
CALLS = {
    name: call_of(name, function)
    for name, function in CALLED.items()
    if not name.startswith(MODULES) and name not in ELSEWHERE
}
