"""autoemulate, which compares emulators and takes the best."""

import numpy as np
import torch
from autoemulate import AutoEmulate


class Best:
    """autoemulate, the best of its probabilistic emulators."""

    def fit(self, X, y):
        options = {"only_probabilistic": True, "show_progress_bar": False, "random_seed": 0}
        X = torch.tensor(X).float()
        y = torch.tensor(y).float()
        self.model = AutoEmulate(X, y, **options).best_result().model

    def predict(self, X):
        moments = self.model.predict_mean_and_variance(torch.tensor(X).float())
        mean, variance = (each.detach().numpy() for each in moments)
        return mean, np.sqrt(variance)
