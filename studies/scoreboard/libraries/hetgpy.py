"""hetgpy, the Python version of the R package hetGP."""

import numpy as np
from hetgpy import hetGP


class HeteroscedasticProcess:
    """hetgpy, hetGP."""

    def fit(self, data):
        """Fit a process with input-dependent noise to each output."""
        self.fitted = []
        for column in data.y.T:
            model = hetGP()
            model.mle(data.X, column, covtype="Matern5_2")
            self.fitted.append(model)

    def predict(self, X):
        """Return mean and standard deviation of single rows at X, (n, n_out) each."""
        outputs = [model.predict(X) for model in self.fitted]
        variance = [output["sd2"] + output["nugs"] for output in outputs]
        return np.column_stack([o["mean"] for o in outputs]), np.sqrt(np.column_stack(variance))


class WithReplicates(HeteroscedasticProcess):
    """hetgpy, hetGP with replicates as more training RVEs."""

    def fit(self, data):
        """Fit to the training RVEs and the replicates together."""
        super().fit(
            data.replaced(
                X=np.vstack([data.X, data.X_repeated]), y=np.vstack([data.y, data.y_repeated])
            )
        )
