"""Gradient boosting of scikit-learn with conformal intervals of MAPIE."""

import numpy as np
from mapie.regression import CrossConformalRegressor
from sklearn.ensemble import GradientBoostingRegressor

LEVEL = 0.95
QUANTILE = 1.96  # half width of a 95 % interval, in standard deviations


class GradientBoosting:
    """MAPIE, gradient boosting with CV+."""

    def fit(self, data):
        """Fit a model to each output, with intervals from ten-fold cross-validation."""
        model = GradientBoostingRegressor(random_state=0)
        options = {"confidence_level": LEVEL, "method": "plus", "cv": 10, "random_state": 0}
        models = [CrossConformalRegressor(model, **options) for _ in data.y.T]
        self.fitted = [
            model.fit_conformalize(data.X, column)
            for model, column in zip(models, data.y.T, strict=True)
        ]

    def predict(self, X):
        """Return the mean at X, and as standard deviation the interval's width / (2 × 1.96)."""
        predictions = [model.predict_interval(X) for model in self.fitted]
        widths = [intervals[:, 1, 0] - intervals[:, 0, 0] for _, intervals in predictions]
        mean = np.column_stack([mean for mean, _ in predictions])
        return mean, np.column_stack(widths) / (2 * QUANTILE)
