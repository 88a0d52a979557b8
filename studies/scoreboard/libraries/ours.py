"""bnn, the package of this repository, partly with the mean-field model of fe_data."""

import numpy as np

import bnn
from bnn import evidence
from figures.composite.priors import about_fitted_fields
from figures.composite.problem import Samples, fit_theta, functional_prior, noise_std

ROWS = 200  # largest number of rows for the marginal likelihood with an RBF


class Estimator:
    """Mean and standard deviation, noise included."""

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        return self.model.predict(X, return_std=True, include_noise=True)


class Default(Estimator):
    """bnn, GPRegressor, default settings."""

    def fit(self, data):
        """Choose prior and noise by the marginal likelihood of the data."""
        self.model = bnn.GPRegressor().fit(data.X, data.y)

    def elppd(self, X, y):
        """Return the log predictive density of y, summed over the rows."""
        return self.model.elppd(X, y)


def with_one_rbf(data, fit_noise):
    """Fit noise, RBF and linear trend to at most 200 rows; return the posterior of all rows."""
    n = len(data.X)
    rows = np.arange(n) if n <= ROWS else np.random.default_rng(0).choice(n, ROWS, replace=False)
    noise = fit_noise(data.X[rows], data.y[rows])
    prior = evidence.fit_prior(data.X[rows], data.y[rows], noise)
    return bnn.GPRegressor(prior, noise=noise).fit(data.X, data.y)


class ExactConstant(Default):
    """bnn, GPRegressor, RBF and constant noise."""

    def fit(self, data):
        """Choose the prior, and one noise covariance for all inputs, by the marginal likelihood."""
        self.model = with_one_rbf(data, evidence.fit_noise)


class ExactByInput(Default):
    """bnn, GPRegressor, RBF and input-dependent noise."""

    def fit(self, data):
        """Choose the prior, and input-dependent noise, by the marginal likelihood."""
        self.model = with_one_rbf(data, evidence.fit_heteroscedastic_noise)


class FunctionAnchored(Estimator):
    """bnn, FunctionAnchoredEnsemble, default settings."""

    def fit(self, data):
        """Train with prior and noise chosen by the marginal likelihood."""
        self.model = bnn.FunctionAnchoredEnsemble(random_state=0).fit(data.X, data.y)


class ExactPaper(Default):
    """bnn, GPRegressor."""

    def fit(self, data):
        """Choose the prior by the marginal likelihood, given the paper's noise."""
        prior = evidence.fit_prior(data.X, data.y, noise_std())
        self.model = bnn.GPRegressor(prior, noise=noise_std()).fit(data.X, data.y)


class Anchored(Estimator):
    """bnn, AnchoredEnsemble, the paper's prior."""

    def fit(self, data):
        """Train with the paper's noise and prior; the slopes of its mean are fitted to the RVEs."""
        prior = functional_prior(fit_theta(Samples(data.X, data.y)))
        self.model = bnn.AnchoredEnsemble(prior=prior, noise=noise_std(), random_state=0).fit(
            data.X, data.y
        )


class Vanilla(Estimator):
    """bnn, VanillaEnsemble."""

    def fit(self, data):
        """Train with the paper's noise, without a functional prior."""
        self.model = bnn.VanillaEnsemble(noise=noise_std(), random_state=0).fit(data.X, data.y)


class ExactReplicates(Default):
    """bnn, GPRegressor, input-dependent noise from replicates, which are also trained on."""

    def fit(self, data):
        """Fit the noise to RVEs with equal inputs, then the prior by the marginal likelihood."""
        repeated = data.X_repeated, data.y_repeated, data.groups
        noise = bnn.HeteroscedasticNoise.from_replicates(*repeated, squares=(0,))
        X = np.vstack([data.X, data.X_repeated])
        y = np.vstack([data.y, data.y_repeated])
        prior = evidence.fit_prior(X, y, noise)
        self.model = bnn.GPRegressor(prior, noise=noise).fit(X, y)


class ExactFields(Default):
    """bnn, GPRegressor, mean-field model as prior mean, input-dependent noise."""

    def fit(self, data):
        """Fit input-dependent noise, a mean-field model, and the prior of its error."""
        noise = evidence.fit_heteroscedastic_noise(data.X, data.y)
        prior = about_fitted_fields(Samples(data.X, data.y), noise)
        self.model = bnn.GPRegressor(prior, noise=noise).fit(data.X, data.y)
