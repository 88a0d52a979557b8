"""The probability that a run of the simulator succeeds, fitted to earlier runs."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bnn._validation import Array

# Bounds of the variance and the length scale of the latent function; inputs are in units of half
# their range. With wider bounds and few runs the fitted length scale may grow until failure is
# predicted in half of the input space.
VARIANCES = (1.0, 100.0)
LENGTHSCALES = (0.2, 10.0)
# Least probability. With a probability of zero a candidate would never be run, so the model could
# never be corrected there.
LEAST = 1e-3


def success_probability(X: Array, succeeded: Array, points: Array) -> Array:
    """Return the probability that runs at points succeed, from a Gaussian process classifier.

    Args:
        X: Inputs of the finished runs, in units of half their ranges, (n, n_in).
        succeeded: Which of these runs succeeded, (n,) booleans.
        points: Inputs in the same units, (m, n_in).

    Returns:
        Probabilities, (m,); ones if no run failed.

    Raises:
        ValueError: If all runs failed.

    Source: Rasmussen & Williams (2006), section 3.4. Use as a weight of the gain: Schonlau,
    Welch & Jones (1998) and Gelbart, Snoek & Adams (2014).
    """
    if succeeded.all():
        return np.ones(len(points))
    kernel = ConstantKernel(4.0, VARIANCES) * RBF(1.0, LENGTHSCALES)
    # Both hyperparameters may end at a bound, where the likelihood is flat; scikit-learn would
    # warn.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessClassifier(kernel, random_state=0).fit(X, succeeded)
    probabilities = model.predict_proba(points)[:, 1]
    return np.asarray(np.clip(probabilities, LEAST, 1.0))
