"""The probability that a run of the simulator succeeds, learnt from those that did and did not."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bnn._validation import Array

# Bounds of the variance of the latent function and of its length scale, in units of half a range
# of the inputs. Wider ones let the length scale of few runs grow until a whole half of the box
# fails.
VARIANCES = (1.0, 100.0)
LENGTHSCALES = (0.2, 10.0)
# No candidate is given up: with a probability of zero nothing would ever correct the model.
LEAST = 1e-3


def success_probability(X: Array, succeeded: Array, points: Array) -> Array:
    """Return the probability that runs at points succeed, by a Gaussian process classifier.

    Args:
        X: Inputs of the runs that were made, in units of half their ranges, (n, n_in).
        succeeded: Which of them succeeded, (n,) booleans.
        points: Inputs in the same units, (m, n_in).

    Returns:
        Probabilities, (m,); ones if no run failed.

    Source: Rasmussen & Williams (2006), section 3.4; as a weight of what is gained, after
    Schonlau, Welch & Jones (1998) and Gelbart, Snoek & Adams (2014).
    """
    if succeeded.all():
        return np.ones(len(points))
    kernel = ConstantKernel(4.0, VARIANCES) * RBF(1.0, LENGTHSCALES)
    # The likelihood of labels is flat in both at a bound, of which scikit-learn would warn.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GaussianProcessClassifier(kernel, random_state=0).fit(X, succeeded)
    probabilities = model.predict_proba(points)[:, 1]
    return np.asarray(np.clip(probabilities, LEAST, 1.0))
