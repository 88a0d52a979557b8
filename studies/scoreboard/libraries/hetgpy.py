"""hetgpy, the Python version of the R package hetGP."""

import numpy as np
from hetgpy import hetGP


class HeteroscedasticProcess:
    """hetgpy, hetGP."""

    def fit(self, given):
        """Fit a process with input-dependent noise to each output."""
        self.fitted = []
        for column in given.y.T:
            model = hetGP()
            model.mle(given.X, column, covtype="Matern5_2")
            self.fitted.append(model)

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        found = [model.predict(X) for model in self.fitted]
        variance = [each["sd2"] + each["nugs"] for each in found]
        return np.column_stack([each["mean"] for each in found]), np.sqrt(np.column_stack(variance))


class WithReplicates(HeteroscedasticProcess):
    """hetgpy, hetGP with replicates as more training RVEs."""

    def fit(self, given):
        """Fit to the training RVEs and the replicates together."""
        super().fit(
            given.replaced(
                X=np.vstack([given.X, given.X_repeated]), y=np.vstack([given.y, given.y_repeated])
            )
        )
