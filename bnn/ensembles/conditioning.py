"""Gaussian conditioning: posterior moments and realisations of a Gaussian f given noisy data.

The prior has the mean m and covariance C of f(X). H picks the data ỹ = H f + ε among the points X,
with ε ~ N(0, Σ_noise). The posterior has

    gain G = C Hᵀ (H C Hᵀ + Σ_noise)⁻¹,   mean m + G (ỹ - H m),   covariance S = C - G H C.

Matheron's rule f* = g + G (ỹ - H g) turns a prior realisation g and perturbed data ỹ into a
posterior realisation f*. By completing the square, the objective of `train_function_anchored` is
(f - f*)(X)ᵀ S⁻¹ (f - f*)(X) plus a constant.

Entry j n + i of a vector is point i of output j. Matrices are given by their diagonal blocks,
(n_out, n, n) for independent outputs and (1, n_out n, n_out n) for dependent ones.

Source: Rasmussen & Williams (2006), equations 2.22 to 2.24 and 2.30.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, cho_factor, cho_solve

from bnn._validation import Array
from bnn.gp.conditioning import leave_out
from bnn.noise.covariances import is_diagonal, noise_blocks
from safe_files.text import Short

# Least standard deviation of a prior that varies, in the networks' units, in which outputs lie in
# [-1, 1].
LEAST_DEVIATION = 1e-10


def output_vectors(values: Array) -> Array:
    """Return values (K, n, n_out) as vectors, (K, n_out n), output by output."""
    return np.swapaxes(values, 1, 2).reshape(len(values), -1)


def check_nugget(nuggets: Array, variances: Array) -> None:
    """Check that nuggets δ are 1e-8 to 1/3 of the prior's standard deviations.

    Args:
        nuggets: Standard deviations δ of the outputs, (n_out,), in the networks' units.
        variances: Variances of the prior, (n_out,), in these units squared.

    Raises:
        ValueError: If they are not, or if the prior of an output does not vary.
    """
    deviations = np.sqrt(variances)
    if np.any(nuggets < 1e-8 * deviations):
        raise ValueError(
            f"nugget = {nuggets.min():.3g} in the networks' units (None is half of the noise): too "
            "small for double precision, give a larger nugget or noise"
        )
    j = (deviations / nuggets).argmin()
    if deviations[j] < LEAST_DEVIATION:
        raise ValueError(
            f"the prior does not vary in output {j}: give it an uncertain parameter there"
        )
    if deviations[j] < 3.0 * nuggets[j]:
        raise ValueError(
            f"nugget = {nuggets[j]:.3g}: must be below a third of the prior's standard deviation, "
            f"{deviations[j]:.2g} for output {j} in the networks' units, see scaling.outputs"
        )


@dataclass(frozen=True, repr=False)
class Conditioning(Short):
    """The affine map from prior realisations to posterior ones at the points X."""

    gains: Array  # G by blocks, (B, m, p), for p data in a block
    covariance: Array  # S by blocks, (B, m, m)

    @classmethod
    def on_first_points(
        cls,
        prior_blocks: Array,
        noise: Array,
        n_data: int,
        present: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Condition a prior, given by the blocks of C, on outputs at its first points.

        Args:
            prior_blocks: C by blocks, (B, m, m).
            noise: Σ_noise, (n_out, n_out), or one for each datum, (N, n_out, n_out).
            n_data: N, the number of points with data.
            present: Whether each datum has each output, (N, n_out); None if none is missing.

        Returns:
            The map.
        """
        outputs = noise.shape[-1] // len(prior_blocks)  # in each block
        # H picks the first N points of each output.
        n = prior_blocks.shape[1] // outputs
        data = (np.arange(outputs)[:, None] * n + np.arange(n_data)).ravel()
        cross = prior_blocks[:, :, data]  # C Hᵀ
        return cls.from_blocks(cross[:, data], noise, cross, prior_blocks, present)

    @classmethod
    def from_blocks(
        cls,
        data: Array,
        noise: Array,
        cross: Array,
        prior: Array,
        present: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Condition on data, with the blocks of H C Hᵀ (data), of C Hᵀ (cross) and of C (prior)."""
        n_outputs = noise.shape[-1]
        N = data.shape[0] * data.shape[1] // noise.shape[-1]
        if len(data) != n_outputs or not is_diagonal(noise):
            # Outputs that depend on each other have one block in common.
            data, cross, prior = (block_diag(*blocks)[None] for blocks in (data, cross, prior))
        # A = H C Hᵀ + Σ_noise = L Lᵀ
        noisy = data + noise_blocks(noise, N, len(data))
        if present is not None and not present.all():
            cross = cross.copy()
            for block, right, available in zip(
                noisy, cross, present.T.reshape(len(noisy), -1), strict=True
            ):
                missing = np.flatnonzero(~available)
                leave_out(block, missing)
                right[:, missing] = 0.0
        # Gᵀ = A⁻¹ H C, block by block
        solved = []
        for block, right in zip(noisy, cross.swapaxes(1, 2), strict=True):
            solved.append(cho_solve(cho_factor(block), right))
        gains = np.stack(solved).swapaxes(1, 2)
        # S = C - G H C
        return cls(gains, prior - gains @ cross.swapaxes(1, 2))

    def apply(self, realisations: Array, targets: Array) -> Array:
        """Return posterior realisations f*, (K, n, n_out).

        Args:
            realisations: Prior realisations g, (K, n, n_out), with the N points of the data first.
            targets: Perturbed data ỹ, (K, N, n_out).
        """
        # f* = g + G (ỹ - H g)
        return realisations + self.correction(targets - realisations[:, : targets.shape[1]])

    def correction(self, misfit: Array) -> Array:
        """Return G v at X, (K, n, n_out), for v (K, N, n_out)."""
        K, _, n_out = misfit.shape
        by_block = output_vectors(misfit).reshape(K, len(self.gains), -1)
        # G v, block by block
        correction = np.einsum("bmp,kbp->kbm", self.gains, by_block, optimize=True)
        return np.asarray(correction.reshape(K, n_out, -1).swapaxes(1, 2))
