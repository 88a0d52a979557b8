"""Rows of a table that summarises a fit: length scales, weights of components and noise."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array
from bnn.gp.kernel import Kernel
from bnn.gp.mixture import TINY, MixturePrior, components_of
from bnn.gp.process import GaussianProcessPrior
from bnn.gp.warping import Warped
from bnn.noise import Covariance, HeteroscedasticNoise, StudentNoise, covariance_at
from bnn.noise.models import no_noise
from bnn.scaling import BoundsScaler


def prior_rows(
    prior: Any, shares: Array | None, inputs: Sequence[str], ranges: Array
) -> list[tuple[str, list[str]]]:
    """Return rows of length scales, relative to the ranges of the inputs, and of the components.

    Args:
        prior: A functional prior of any kind; those without kernels have no rows.
        shares: Posterior weights of the components of a mixture, (S, n_out); None takes those of
            the prior.
        inputs: Names of the inputs.
        ranges: Ranges of the inputs, (n_in,).

    Returns:
        Rows of a title and an entry for each output. Length scales of a mixture are geometric
        means, weighted by the weights of its components.
    """
    if not isinstance(prior, GaussianProcessPrior | MixturePrior):
        return []
    components = components_of(prior)
    n_out = prior.n_outputs
    weights = np.ones((1, n_out))
    if isinstance(prior, MixturePrior):
        weights = np.asarray(prior.shares if shares is None else shares)
    sums: dict[tuple[str, int], Array] = {}
    for component_weights, component in zip(weights, components, strict=True):
        for j in np.flatnonzero(component_weights).tolist():
            kernel = component.kernels[j]
            features = component.active_dims_of(j, len(inputs))
            for name, lengths in _scales(kernel):
                scales = np.broadcast_to(lengths, len(features)) / ranges[features]
                for i, scale in zip(features, scales, strict=True):
                    # Σ_s w_s and Σ_s w_s log L_s
                    total = sums.setdefault((name, i), np.zeros((2, n_out)))
                    total[:, j] += component_weights[j] * np.array([1.0, np.log(scale)])
    rows = []
    kernels = [*dict.fromkeys(name for name, _ in sums)]
    for name, i in sorted(sums, key=lambda key: (kernels.index(key[0]), key[1])):
        weight, logs = sums[name, i]
        means = np.exp(logs / np.maximum(weight, TINY))
        texts = [f"{L:.3g}" if w > 0.0 else "–" for L, w in zip(means, weight, strict=True)]
        rows.append((f"length scale / range of {inputs[i]}, {name}", texts))
    if len(components) > 1:
        effective = 1.0 / np.sum(weights**2, axis=0)
        rows.append(("effective components", [f"{n:.1f}" for n in effective]))
        rows.append(("largest weight", [f"{w:.2g}" for w in weights.max(axis=0)]))
    return rows


def open_rows(
    open_prior: GaussianProcessPrior | None, prior: Any, shares: Array | None, inputs: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return rows of the values found for open parameters.

    Length scales that have a unit are left out, because `prior_rows` returns them.

    Args:
        open_prior: The prior with its open parameters; None has no rows.
        prior: The prior that was estimated from `open_prior`.
        shares: Posterior weights of its components, (S, n_out); None if it has one component.
        inputs: Names of the inputs.

    Returns:
        Rows of a title and an entry for each output, a geometric mean with these weights.
    """
    if open_prior is None:
        return []
    components = components_of(prior)
    weights = np.ones((1, open_prior.n_outputs)) if shares is None else shares
    rows: dict[str, list[str]] = {}
    for j, template in enumerate(open_prior.kernels):
        names = [inputs[i] for i in open_prior.active_dims_of(j, len(inputs))]
        fitted = [[*_numbered_parts(component.kernels[j])] for component in components]
        for number, (kind, term) in enumerate(_numbered_parts(template)):
            for name in term.open_fields() if isinstance(term, Kernel) else ():
                values = [np.atleast_1d(getattr(terms[number][1], name)) for terms in fitted]
                entries = np.atleast_1d(getattr(term, name))
                for i, value in enumerate(np.transpose(values)):
                    open_ = entries[i if len(entries) > 1 else 0] is None
                    shown = name != "lengthscale" or _has_ratios(term)
                    if shown and open_ and np.all(value > 0.0):
                        place = f" of {names[i]}" if len(values[0]) > 1 else ""
                        row = rows.setdefault(
                            f"{name}{place}, {kind}", ["–"] * open_prior.n_outputs
                        )
                        row[j] = f"{np.exp(weights[:, j] @ np.log(value)):.3g}"
    return list(rows.items())


def _scales(kernel: sk.Kernel) -> Iterator[tuple[str, Array]]:
    """Yield the names and length scales of the parts of a kernel that have length scales."""
    if isinstance(kernel, Warped):
        # Its length scales are relative to the widths of the inputs.
        for name, relative in _scales(kernel.kernel):
            yield name, relative * np.asarray(kernel.width)
        return
    for name, term in _numbered_parts(kernel):
        lengths = getattr(term, "lengthscale", getattr(term, "length_scale", None))
        if lengths is not None and not _has_ratios(term):
            yield name, np.atleast_1d(np.asarray(lengths, dtype=float))


def _has_ratios(kernel: sk.Kernel) -> bool:
    """Return whether the length scales of a kernel have no unit."""
    return isinstance(kernel, Kernel) and kernel.quantities.get("lengthscale") == "ratio"


def _numbered_parts(kernel: sk.Kernel) -> Iterator[tuple[str, sk.Kernel]]:
    """Yield the names and parts of a kernel; repeated names are numbered from 2 on."""
    seen: dict[str, int] = {}
    for term in _parts(kernel):
        kind = type(term).__name__
        seen[kind] = seen.get(kind, 0) + 1
        yield f"{kind} {seen[kind]}" if seen[kind] > 1 else kind, term


def _parts(kernel: sk.Kernel) -> Iterator[sk.Kernel]:
    """Yield the kernels of which sums, products, powers and other compositions consist."""
    inner = [getattr(kernel, name) for name in ("k1", "k2", "kernel") if hasattr(kernel, name)]
    if not inner:
        yield kernel
    for operand in inner:
        yield from _parts(operand)


def noise_rows(
    noise: Covariance | StudentNoise, X: Array, ranges: Array
) -> list[tuple[str, list[str]]]:
    """Return rows of the standard deviation of the noise, in units of y and relative to its range.

    Args:
        noise: The attribute `noise_` of an estimator.
        X: Points, (n, n_in). Input-dependent noise is shown by its least and largest value there.
        ranges: Ranges of the outputs, (n_out,).

    Returns:
        Rows of a title and an entry for each output. The first title names the form of the noise.
    """
    variances = np.einsum("...jj->...j", covariance_at(noise, X)) * np.ones((len(X), 1))
    std = np.sqrt(variances)
    rows = []
    forms = {
        "apart from noise_std": no_noise(noise),
        "heavy tails": isinstance(noise, StudentNoise),
        "by input": isinstance(getattr(noise, "noise", noise), HeteroscedasticNoise),
    }
    form = " ".join(name for name, applies in forms.items() if applies) or "constant"
    for title, values in ((f"noise, {form}", std), ("noise / range", std / ranges)):
        pairs = zip(values.min(axis=0), values.max(axis=0), strict=True)
        texts = [f"{a:.3g}" if a == b else f"{a:.3g} to {b:.3g}" for a, b in pairs]
        rows.append((title, texts))
    if isinstance(noise, StudentNoise):
        rows.append(("degrees of freedom", [f"{noise.degrees:.3g}"] * std.shape[1]))
    return rows


def ranges_of(values: Array) -> Array:
    """Return the ranges of the columns of data (N, n), (n,)."""
    return np.asarray(2.0 * BoundsScaler.fit(values).half_range)
