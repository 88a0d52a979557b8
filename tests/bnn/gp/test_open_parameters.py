"""Open parameters of kernels: their derivatives, their search and what is done with the result."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import bnn
from bnn.gp.evidence.density import FamilyDensity
from bnn.gp.evidence.families import Family, NoiseForm
from bnn.gp.evidence.output_data import OutputData
from bnn.gp.open_parameters import of_inputs, open_parameters
from tests.bnn.test_readme import section

RNG = np.random.default_rng(3)
X1 = np.sort(RNG.uniform(0.0, 10.0, 40))[:, None]
X2 = RNG.uniform(0.5, 2.5, (30, 2))
NOISE = 0.1
SEASON = np.sin(2.0 * np.pi * X1[:, 0] / 1.7) + NOISE * RNG.standard_normal(40)
PARTS = np.sin(4.0 * X2[:, 0]) + 2.0 * X2[:, 1] + NOISE * RNG.standard_normal(30)


def open_prior(kernel, n_outputs=1, **changed):
    return bnn.GaussianProcessPrior(0.0, kernel, n_outputs, **changed)


@dataclass(repr=False)
class Shear(bnn.Kernel):
    """Functions b / x² of the first input."""

    size: float = 1.0

    def _evaluate(self, A, B):
        return self.size * np.outer(A[:, 0] ** -2, B[:, 0] ** -2)

    def diag(self, X):
        return self.size * X[:, 0] ** -4


@dataclass(repr=False)
class ShearWithFormula(Shear):
    """The same with its derivative."""

    def parameter_gradient(self, X, name, entry):
        assert (name, entry) == ("size", None)
        return self(X) / self.size


@dataclass(repr=False)
class Bump(bnn.Stationary):
    """A stationary kernel with a parameter of its own."""

    power: float = 2.0

    def _correlation(self, q, derivative):
        value = (1.0 + q) ** -self.power
        return value, -self.power * value / (1.0 + q) if derivative else None


KERNELS = {
    "product": bnn.Periodic(None, None, None) * bnn.RBF(1.0, None),
    "of some inputs": bnn.Matern52(None, (None, np.inf)) + bnn.Linear((0.0, None), None),
    "rough": bnn.Matern12(None, None) * bnn.Matern32(2.0, (None, 1.5)) + sk.ConstantKernel(0.1),
    "alpha": sk.RationalQuadratic(0.5, 1.0) * bnn.RationalQuadratic(None, None, None),
    "power": (bnn.RBF(None, None) + bnn.Linear(0.1, None)) ** 2,
    "warped": bnn.Warped(bnn.RBF(None, None), (0.0, 0.0), (3.0, 3.0), (1.0, -1.0)),
    "custom": Shear(None) + Bump(None, None, None) * 2.0,
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_evidence_has_the_gradient_of_finite_differences(name):
    """By every open parameter, with differences of sixth order."""
    data = OutputData(X2, PARTS[:, None], prior=open_prior(KERNELS[name]))
    noise = NoiseForm.constant(np.ones(30))
    density = FamilyDensity(Family(()), data.u, data.y, noise, data.covariance)
    n = len(open_parameters(of_inputs(KERNELS[name], np.array([True, True]))))
    assert len(density.centre) == n + 1
    eta = density.centre + 0.2 * np.random.default_rng(0).standard_normal(n + 1)
    gradient = density(eta)[1]
    for i, step in enumerate(1e-3 * np.eye(n + 1)):
        ends = [density.value(eta + m * step) - density.value(eta - m * step) for m in (1, 2, 3)]
        difference = (45.0 * ends[0] - 9.0 * ends[1] + ends[2]) / 6e-2
        assert gradient[i] == pytest.approx(difference, rel=1e-6, abs=1e-8)


def test_derivatives_of_a_kernel_by_one_length_scale_of_all_inputs():
    for kernel in (bnn.RBF(2.0, 0.7), bnn.Periodic(2.0, 0.7, 1.3), bnn.Linear(0.7)):
        name = "variance" if isinstance(kernel, bnn.Linear) else "lengthscale"
        expected = bnn.Kernel.parameter_gradient(kernel, X2, name, None)
        derivative = kernel.parameter_gradient(X2, name, None)
        np.testing.assert_allclose(derivative, expected, atol=1e-10 * np.abs(expected).max())


BOUNDS = (1e-3, 1e3)
SCALE = sk.ConstantKernel(1.0, BOUNDS)
# Ours, that of scikit-learn, whose search starts near the period, and data that determine all
# parameters within the bounds.
COMPARED = {
    "periodic times smooth": (
        bnn.Periodic(None, None, None) * bnn.RBF(1.0, None),
        SCALE * sk.ExpSineSquared(3.0, 1.7, BOUNDS, BOUNDS) * sk.RBF(1.0, BOUNDS),
        SEASON * np.exp(-0.1 * X1[:, 0]),
    ),
    "two scales": (
        bnn.RBF(None, None) + bnn.RBF(None, None),
        SCALE * sk.RBF(1.0, BOUNDS) + SCALE * sk.RBF(1.0, BOUNDS),
        np.sin(0.5 * X1[:, 0]) + 0.3 * np.sin(5.0 * X1[:, 0]) + 0.3 * SEASON,
    ),
    "trend and rough": (
        bnn.Linear(1.0, None) + bnn.Matern32(None, None),
        sk.DotProduct(1.0, BOUNDS) + SCALE * sk.Matern(1.0, BOUNDS, nu=1.5),
        8.0 - 0.7 * X1[:, 0] + np.sin(2.0 * X1[:, 0]) + 0.3 * SEASON,
    ),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", COMPARED)
def test_the_evidence_is_at_least_that_which_scikit_learn_finds(name):
    kernel, theirs, y = COMPARED[name]
    other = GaussianProcessRegressor(theirs, alpha=NOISE**2, n_restarts_optimizer=9, random_state=0)
    other.fit(X1, y)
    prior = bnn.evidence.fit_prior(X1, y, NOISE, prior=open_prior(kernel), estimate="map")
    evidence = bnn.GPRegressor(prior, noise=NOISE).fit(X1, y).log_evidence()
    assert evidence > other.log_marginal_likelihood_value_ - 1e-6


@pytest.fixture(scope="module")
def season():
    """An average over the parameters of a season that fades, and unknown noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bnn.gp.evidence.laplace.DRAWS", (32, 32))
        return bnn.GPRegressor(open_prior(KERNELS["product"])).fit(X1, SEASON)


@pytest.mark.slow
def test_a_period_is_found_in_noise(season):
    weights = season.posterior_.weights[:, 0]
    periods = np.array([component.kernel.k1.period for component in season.prior_.components])
    assert abs(weights @ periods - 1.7) < 0.02
    assert 0.07 < np.sqrt(season.noise_[0, 0]) < 0.14
    assert np.all(np.abs(season.predict([[10.5]]) - np.sin(2.0 * np.pi * 10.5 / 1.7)) < 0.2)


def test_what_is_found_is_saved_with_the_prior_that_was_given(season, tmp_path):
    season.save(tmp_path / "model.bnn")
    again = bnn.load(tmp_path / "model.bnn")
    assert again.prior == season.prior
    assert again.summary().splitlines()[1:] == season.summary().splitlines()[1:]
    for ours, theirs in zip(again.predict(X1, True), season.predict(X1, True), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_fit_keeps_what_was_found():
    later = bnn.GPRegressor(open_prior(bnn.RBF(1.0, None)), noise=NOISE).fit(X1[:9], SEASON[:9])
    prior = later.prior_
    later.fit(X1[:12], SEASON[:12], keep_prior=True)
    assert later.prior_ is prior


@pytest.mark.parametrize("kind", [Shear, ShearWithFormula])
def test_a_custom_kernel_has_its_parameter_of_largest_evidence(kind):
    """In closed form: with b̂ = Σ xy / Σ xx of variance s = σ² / Σ xx the size is b̂² - s."""
    x = X2[:, 0] ** -2
    y = 3.0 * x + NOISE * np.random.default_rng(0).standard_normal(30)
    best = bnn.evidence.fit_prior(X2, y, NOISE, prior=open_prior(kind(None)), estimate="map")
    expected = (x @ y / (x @ x)) ** 2 - NOISE**2 / (x @ x)
    assert best.kernel.size == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore::bnn.regressor.ConstantInputWarning")
def test_inputs_and_outputs_have_their_own_kernels():
    """Some outputs without open parameters, features, an input that does not vary, other units."""
    X = np.column_stack([X2, np.full(30, 7.0)])
    Y = np.column_stack([PARTS, 100.0 * X2[:, 0]])
    by_output = [KERNELS["of some inputs"], bnn.Linear((1e4, 0.0), 1e4)]
    prior = open_prior(by_output, 2, active_dims=[0, 1])
    noise = [NOISE, 1.0]
    model = bnn.GPRegressor(prior, noise=noise).fit(X, Y)
    component = model.prior_.components[0]
    matern, linear = component.kernels[0].k1, component.kernels[0].k2
    assert matern.lengthscale[1] == np.inf
    assert linear.variance[0] == 0.0 < linear.variance[1]
    assert component.kernels[1] == by_output[1]
    assert component.active_dims == [0, 1]
    alone = open_prior(bnn.RBF(None, None))
    everywhere = bnn.evidence.fit_prior(X, PARTS, NOISE, prior=alone, estimate="map")
    assert everywhere.kernel.lengthscale[2] == np.inf


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("noise", ["heteroscedastic", "student_t", bnn.StudentNoise(0.1), None])
def test_other_noise_is_found_beside_open_parameters(noise):
    noise_std = np.full(15, NOISE) if noise is None else None
    model = bnn.GPRegressor(open_prior(bnn.RBF(None, None)), noise=noise)
    model.fit(X2[:15], PARTS[:15], noise_std=noise_std)
    assert np.all(np.isfinite(model.predict(X2, return_std=True)))
    assert noise_std is None or not np.any(model.noise_)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda prior: prior.sample(X2, 2, 0), "lengthscale = None of the kernel RBF: only"),
        (lambda prior: bnn.FunctionAnchoredEnsemble(prior).fit(X2, PARTS), "lengthscale = None"),
        (lambda prior: bnn.check_prior(prior, X2, PARTS, 0.1), "lengthscale = None"),
        (lambda prior: bnn.MixturePrior([prior], [1.0]), "lengthscale = None of the kernel RBF"),
        (
            lambda prior: bnn.evidence.fit_prior(X2, PARTS, 0.1, prior=prior, intercept=False),
            "prior: cannot be combined with mean, mean_features",
        ),
        (
            lambda _: bnn.evidence.fit_prior(X2, PARTS, 0.1, prior=open_prior(bnn.RBF())),
            r"prior = .*: must have open parameters",
        ),
        (
            lambda prior: bnn.evidence.fit_prior(X2, X2, 0.1, prior=prior),
            "y has 2 outputs: must be 1",
        ),
        (
            lambda _: bnn.GPRegressor(open_prior(bnn.RBF(1.0, (None, 1.0, 1.0)))).fit(X2, PARTS),
            "lengthscale has 3 entries: must be one, or 2",
        ),
        (lambda _: bnn.RBF(1.0, (None, -1.0)), "lengthscale = .*: must be > 0"),
        (lambda _: bnn.RBF((None, 1.0)), "variance = .*: must be one number > 0"),
    ],
)
def test_open_parameters_are_refused_where_nothing_finds_them(use, message):
    with pytest.raises(ValueError, match=message):
        use(open_prior(bnn.RBF(1.0, None)))


@pytest.mark.slow
def test_the_guide_prints_what_stands_there(capsys):
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", section("Fit a kernel"), re.DOTALL)
    exec(compile(code, "docs/bnn.md", "exec"), {"np": np, "bnn": bnn})
    assert capsys.readouterr().out == printed


@pytest.mark.coverage
def test_an_average_over_few_data_covers_what_the_best_values_do_not():
    """Functions of the kernel itself: 95 % intervals of f between and around 5 to 10 data."""
    kernel = bnn.RBF(None, None) + bnn.Linear(None, None)
    truth = open_prior(bnn.RBF(1.0, 0.25) + bnn.Linear(1.0, 0.5))
    for n in (5, 8, 10):
        covered = []
        for seed in range(24):
            rng = np.random.default_rng(seed)
            X = rng.uniform(0.0, 1.0, (n + 50, 1))
            f = truth.sample(X, 1, seed)[0, :, 0]
            y = f[:n] + 0.05 * rng.standard_normal(n)
            row = []
            for estimate in ("map", "average"):
                search = {"prior": open_prior(kernel), "estimate": estimate}
                prior = bnn.evidence.fit_prior(X[:n], y, 0.05, **search)
                model = bnn.GPRegressor(prior, noise=0.05).fit(X[:n], y)
                mean, std = model.predict(X[n:], return_std=True)
                row.append(np.mean(np.abs(mean - f[n:]) < 1.96 * std))
            covered.append(row)
        best, average = np.mean(covered, axis=0)
        print(f"{n} data: coverage of the best values {best:.2f}, of the average {average:.2f}")
        assert average > max(0.88, best)


def test_what_does_not_vary_is_named():
    x = np.linspace(0.0, 1.0, 12)[:, None]
    wide = np.hstack([x, np.full((12, 1), 7.0)])
    pair = np.hstack([np.sin(5.0 * x), np.full((12, 1), 3.0)])
    model = bnn.GPRegressor(bnn.GaussianProcessPrior(1.0, bnn.RBF(None, None), 2))
    with pytest.raises(ValueError, match=r"output 1 is constant, 3 in all 12 rows.*values of all"):
        model.fit(x, pair)
    pair[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"output 1 is constant, 3 in all"):
        model.fit(x, pair)
    pair[0, 0] = 0.0
    sloped = bnn.GaussianProcessPrior(lambda X: np.hstack([0.0 * X, X + 1.0]), bnn.RBF(None), 2)
    with pytest.raises(
        ValueError, match="output 1 is constant after subtracting the mean of the prior"
    ):
        bnn.GPRegressor(sloped).fit(x, np.hstack([pair[:, :1], x + 3.0]))
    with pytest.raises(ValueError, match=r"Linear: variance is None for input 1 .* is constant"):
        bnn.GPRegressor(open_prior(bnn.Linear((0.0, None)))).fit(wide, pair[:, 0])


@pytest.mark.usefixtures("few_draws")
@pytest.mark.filterwarnings("ignore::bnn.regressor.ConstantInputWarning")
def test_a_linear_or_periodic_term_of_a_constant_input_is_left_out():
    x = np.linspace(0.0, 1.0, 12)[:, None]
    wide = np.hstack([x, np.full((12, 1), 7.0)])
    smooth, slope = bnn.Matern52(None, (None, np.inf)), bnn.Linear((0.0, None))
    wave = bnn.Periodic(1.0, (np.inf, None), None)
    alone = bnn.GPRegressor(open_prior(smooth), noise=0.1).fit(wide, np.sin(5.0 * x[:, 0]))
    for kernel in (slope + smooth, smooth + slope * bnn.RBF(), smooth * wave):
        model = bnn.GPRegressor(open_prior(kernel), noise=0.1).fit(wide, alone.y_[:, 0])
        assert model.summary().splitlines()[1:] == alone.summary().splitlines()[1:]
        np.testing.assert_array_equal(model.predict(wide, True), alone.predict(wide, True))
