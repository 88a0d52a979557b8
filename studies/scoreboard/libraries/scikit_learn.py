"""Gaussian processes of scikit-learn."""

import numpy as np
from scipy.special import digamma
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import LinearRegression

OPTIONS = {"normalize_y": True, "n_restarts_optimizer": 1, "random_state": 0}


class GaussianProcess:
    """scikit-learn, Gaussian process."""

    def fit(self, data):
        """Fit a process with constant noise to each output."""
        kernel = ConstantKernel() * RBF(np.ones(data.X.shape[1])) + WhiteKernel()
        self.fitted = [
            GaussianProcessRegressor(kernel, **OPTIONS).fit(data.X, column) for column in data.y.T
        ]

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (2, n, n_out)."""
        return np.stack([gp.predict(X, return_std=True) for gp in self.fitted], axis=-1)


class Restarted(GaussianProcess):
    """scikit-learn, Gaussian process, Matérn 5/2, nine restarts."""

    def fit(self, data):
        """Fit a process with constant noise to each output, from ten initial values."""
        kernel = ConstantKernel() * Matern(np.ones(data.X.shape[1]), nu=2.5) + WhiteKernel()
        options = OPTIONS | {"n_restarts_optimizer": 9}
        self.fitted = [
            GaussianProcessRegressor(kernel, **options).fit(data.X, column) for column in data.y.T
        ]


class WithReplicates:
    """scikit-learn, Gaussian process, replicates, noise by regression of log variances."""

    def fit(self, data):
        """Fit noise to the scatter of replicates, then a process to each output of all RVEs."""
        masks = [data.groups == group for group in np.unique(data.groups)]
        points = np.array([data.X_repeated[one][0] for one in masks])
        half = np.array([one.sum() - 1 for one in masks]) / 2
        logs = np.log([data.y_repeated[one].var(axis=0, ddof=1) for one in masks])
        logs -= (digamma(half) - np.log(half))[:, None]  # E log of a sample variance
        self.noise = LinearRegression().fit(self.features(points), logs)
        X = np.vstack([data.X, data.X_repeated])
        y = np.vstack([data.y, data.y_repeated])
        self.fitted = []
        for column, variance in zip(y.T, self.variances(X).T, strict=True):
            kernel = ConstantKernel() * RBF(np.ones(X.shape[1]))
            alpha = variance / column.var()
            self.fitted.append(GaussianProcessRegressor(kernel, alpha=alpha, **OPTIONS))
            self.fitted[-1].fit(X, column)

    def features(self, X):
        """Return the inputs of the log variance: X and the square of its first column."""
        return np.column_stack([X, X[:, :1] ** 2])  # the scatter grows with the volume fraction

    def variances(self, X):
        """Return the variances of the noise at X, (n, n_out)."""
        return np.exp(self.noise.predict(self.features(X)))

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        moments = np.stack([gp.predict(X, return_std=True) for gp in self.fitted], axis=-1)
        return moments[0], np.sqrt(moments[1] ** 2 + self.variances(X))


class OnFields(GaussianProcess):
    """scikit-learn, Gaussian process of a mean-field residual, the best of nine by likelihood."""

    def fit(self, data):
        """Fit processes to what each field (N, n_out) leaves of y, and keep the best."""
        likelihoods = []
        tried = []
        for field, at_test in zip(data.fields, data.fields_test, strict=True):
            super().fit(data.replaced(y=data.y - field))
            tried.append((self.fitted, at_test))
            likelihoods.append(sum(gp.log_marginal_likelihood_value_ for gp in self.fitted))
            # Each process standardises its output: the likelihood of y has the scales as well.
            likelihoods[-1] -= len(data.X) * np.log((data.y - field).std(axis=0)).sum()
        best = int(np.argmax(likelihoods))
        self.fitted, self.about = tried[best]

    def predict(self, X):
        """Return mean and standard deviation at the test inputs X, about the best field there."""
        mean, std = super().predict(X)
        return self.about + mean, std
