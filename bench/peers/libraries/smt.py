"""SMT, the surrogate modelling toolbox."""

import numpy as np
from smt.applications import MFK
from smt.surrogate_models import KRG

OPTIONS = {"eval_noise": True, "print_global": False, "seed": 0}


class Kriging:
    """SMT, KRG."""

    def fit(self, X, y):
        self.fitted = []
        for column in y.T:
            model = KRG(**OPTIONS)
            model.set_training_values(X, column[:, None])
            model.train()
            self.fitted.append((model, model.optimal_noise * model.optimal_par["sigma2"]))

    def predict(self, X):
        mean = np.hstack([model.predict_values(X) for model, _ in self.fitted])
        variance = np.hstack([model.predict_variances(X) + noise for model, noise in self.fitted])
        return mean, np.sqrt(variance)


class MultiFidelity(Kriging):
    """SMT, MFK with mean fields as low fidelity."""

    def fit(self, X, y, X_low, y_low):
        self.fitted = []
        for cells, fields in zip(y.T, y_low.T, strict=True):
            model = MFK(**OPTIONS)
            model.set_training_values(X_low, fields[:, None], name=0)
            model.set_training_values(X, cells[:, None])
            model.train()
            noise = model.optimal_noise_all[-1] * model.optimal_par[-1]["sigma2"]
            self.fitted.append((model, noise))
