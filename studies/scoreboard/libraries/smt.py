"""SMT, the surrogate modelling toolbox."""

import numpy as np
from smt.applications import MFK
from smt.surrogate_models import KRG

OPTIONS = {"eval_noise": True, "print_global": False, "seed": 0}


class Kriging:
    """SMT, KRG."""

    def fit(self, data):
        """Fit a model to each output, with the variance of its noise."""
        self.fitted = []
        for column in data.y.T:
            model = KRG(**OPTIONS)
            model.set_training_values(data.X, column[:, None])
            model.train()
            self.fitted.append((model, model.optimal_noise * model.optimal_par["sigma2"]))

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        mean = np.hstack([model.predict_values(X) for model, _ in self.fitted])
        variance = np.hstack([model.predict_variances(X) + noise for model, noise in self.fitted])
        return mean, np.sqrt(variance)


class MultiFidelity(Kriging):
    """SMT, MFK with a mean-field model as low fidelity, the best of nine by likelihood."""

    def fit(self, data):
        """Fit models with each of the fields at X_low as low fidelity, and keep the best."""
        tried = [self.one(data, fields) for fields in data.fields_low]
        best = np.argmax([sum(self.likelihood(m, len(data.X)) for m in models) for models in tried])
        self.fitted = []
        for model in tried[best]:
            noise = model.optimal_noise_all[-1] * model.optimal_par[-1]["sigma2"]
            self.fitted.append((model, noise))

    def likelihood(self, model, n):
        """Return the likelihood that SMT maximises, for n cells in their own units."""
        # The values of both levels are standardised together, by other fields otherwise.
        return np.sum(model.optimal_rlf_value[-1] - 2 * n * np.log10(model.y_std))

    def one(self, data, fields):
        """Return a model for each output, with fields (n_low, n_out) at X_low below the cells."""
        models = []
        for cells, column in zip(data.y.T, fields.T, strict=True):
            model = MFK(**OPTIONS)
            model.set_training_values(data.X_low, column[:, None], name=0)
            model.set_training_values(data.X, cells[:, None])
            model.train()
            models.append(model)
        return models
