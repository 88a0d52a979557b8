"""Derivatives of the moments of exact posteriors with respect to the inputs.

Source: Rasmussen & Williams (2006), section 9.4, for derivatives of Gaussian processes.
"""

import numpy as np

from bnn._validation import Array
from bnn.gp.conditioning import ProcessPosterior
from bnn.gp.kernel import check_finite
from bnn.gp.kernels import kernel_gradient
from bnn.gp.mixture import MixturePosterior
from bnn.gp.process import GaussianProcessPrior


def moment_gradients(
    posterior: ProcessPosterior | MixturePosterior, X: Array
) -> tuple[Array, Array]:
    """Return the gradients of means and variances of f at points of a batch.

    Args:
        posterior: Posterior of a Gaussian process or a mixture.
        X: (n, n_in).

    Returns:
        ∂m/∂x and ∂v/∂x, (n, n_out, n_in) each.
    """
    if isinstance(posterior, ProcessPosterior):
        return _of_process(posterior, X)
    # m = Σ_s w_s m_s and v = Σ_s w_s (v_s + (m_s - m)²)
    weights = posterior.weights[:, None, :, None]
    means = np.array([process.mean(X) for process in posterior.posteriors])[..., None]
    pairs = [_of_process(process, X) for process in posterior.posteriors]
    by_mean = np.array([first for first, _ in pairs])
    by_variance = np.array([second for _, second in pairs])
    mean = np.sum(weights * means, axis=0)
    slope = np.sum(weights * by_mean, axis=0)
    spread = 2.0 * (means - mean) * (by_mean - slope)
    return slope, np.sum(weights * (by_variance + spread), axis=0)


def between_gradients(posterior: ProcessPosterior | MixturePosterior, A: Array, B: Array) -> Array:
    """Return the gradients with respect to A of the covariances of f between A and B.

    Args:
        posterior: Posterior of a Gaussian process or a mixture.
        A: (n, n_in).
        B: (m, n_in).

    Returns:
        ∂ Cov(f_j(a), f_j(b)) / ∂a, (n_out, n, m, n_in).
    """
    if isinstance(posterior, MixturePosterior):
        # Cov = Σ_s w_s (S_s(a, b) + (m_s - m)(a) (m_s - m)(b))
        weights = posterior.weights
        slopes = np.array([moment_gradients(process, A)[0] for process in posterior.posteriors])
        values = np.array([process.mean(B) for process in posterior.posteriors])
        slopes -= np.einsum("sj,snji->nji", weights, slopes)
        values -= np.einsum("sj,snj->nj", weights, values)
        total = np.einsum("sj,snji,smj->jnmi", weights, slopes, values, optimize=True)
        for share, process in zip(weights, posterior.posteriors, strict=True):
            total += share[:, None, None, None] * between_gradients(process, A, B)
        return np.asarray(total)
    prior = posterior.prior
    columns = []
    for j, beta in zip(prior.alike, posterior.kriging_weights(B), strict=True):
        # ∂/∂a (k(a, b) - k(a, X) K⁻¹ k(X, b))
        cross = _prior_gradient(prior, j, A[:, None], posterior.X)
        of_prior = _prior_gradient(prior, j, A[:, None], B)
        columns.append(of_prior - np.einsum("nai,am->nmi", cross, beta, optimize=True))
    return np.asarray(np.einsum("jc,cnmi->jnmi", posterior.axes**2, columns))


def _of_process(posterior: ProcessPosterior, X: Array) -> tuple[Array, Array]:
    """Return ∂m/∂x and ∂v/∂x of a Gaussian process given data, (n, n_out, n_in) each."""
    prior = posterior.prior
    n, n_in = X.shape
    axes = posterior.axes
    n_out = len(axes)
    alike = prior.alike
    # ∂k(x, X_train)/∂x and ∂k(x, x)/∂x = 2 ∂k(x, x')/∂x at x' = x, for each different kernel
    cross = {j: _prior_gradient(prior, j, X[:, None], posterior.X) for j in set(alike)}
    diagonal = {j: 2.0 * _prior_gradient(prior, j, X, X) for j in set(alike)}
    latent = np.empty((n, n_out, n_in))
    for c, j in enumerate(alike):
        # ∂/∂x k(x, X_train) α
        latent[:, c] = np.einsum("nai,a->ni", cross[j], posterior.solved[:, c])
    mean = prior.mean_slopes(X) + np.einsum("jc,nci->nji", axes, latent)
    columns = np.empty((n, n_out, n_in))
    for c, (j, beta) in enumerate(zip(alike, posterior.kriging_weights(X), strict=True)):
        # ∂/∂x (k(x, x) - kᵀ K⁻¹ k) = ∂k(x, x)/∂x - 2 βᵀ ∂k/∂x, with β = K⁻¹ k
        columns[:, c] = diagonal[j] - 2.0 * np.einsum("an,nai->ni", beta, cross[j])
    return mean, np.einsum("jc,nci->nji", axes**2, columns)


def _prior_gradient(prior: GaussianProcessPrior, output: int, A: Array, B: Array) -> Array:
    """Return ∂k_j(a, b)/∂a of output j, (..., n_in), at points (..., n_in) that broadcast.

    It is zero for inputs that the kernel does not use; ValueError if it is not finite.
    """
    kernel = prior.kernels[output]
    n_in = A.shape[-1]
    seen = prior.active_dims_of(output, n_in)
    shape = np.broadcast_shapes(A.shape, B.shape)
    gradient = np.zeros(shape)
    gradient[..., seen] = kernel_gradient(kernel, A[..., seen], B[..., seen])[1]
    check_finite(kernel, gradient, A.reshape(-1, n_in)[:, seen], what="the gradient of ")
    return gradient
