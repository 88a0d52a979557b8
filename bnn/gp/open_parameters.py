"""Open parameters of kernels: parameters that are None, which a fit estimates from the evidence.

These parameters may be open: variance and length scales of a stationary kernel, `alpha` of
`RationalQuadratic`, the period of `Periodic`, and the variances of `Linear`. So may fields of
custom kernels that have a positive default. Their kernels may be parts of sums, products and other
compositions. Parameters of scikit-learn kernels keep their values.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sk

from bnn._validation import Array, is_row
from bnn.gp.kernel import STEP, Kernel, differences
from bnn.gp.units import default_of

# Quantities that have an entry for each input, and their value for an input that does not vary.
OF_INPUTS = {"length": np.inf, "ratio": np.inf, "slope": 0.0}


class NothingLeft(ValueError):
    """An open parameter of a kernel belongs only to inputs that do not vary."""


class OpenParameter(NamedTuple):
    """An open parameter of a kernel."""

    kernel: Kernel  # the part of a kernel that has the parameter
    name: str  # name of its field
    entry: int | None  # index of its entry if the field is a tuple, else None
    quantity: str  # its kind, see `Kernel.quantities`


def open_parameters(kernel: sk.Kernel) -> list[OpenParameter]:
    """Return the open parameters of a kernel and its parts, in the order of `with_values`."""
    parameters = []
    for inner in fields_of(kernel).values():
        if isinstance(inner, sk.Kernel):
            parameters += open_parameters(inner)
    if isinstance(kernel, Kernel):
        for name, quantity in kernel.open_fields().items():
            value = getattr(kernel, name)
            entries = [None] if value is None else [i for i, v in enumerate(value) if v is None]
            parameters += [OpenParameter(kernel, name, entry, quantity) for entry in entries]
    return parameters


def check_others(kernel: sk.Kernel) -> None:
    """Check that parameters that cannot be open are not None, and that no part is noise.

    Such parameters are those of scikit-learn kernels, of custom kernels that are no dataclasses,
    and fields without a positive default.

    Raises:
        ValueError: If such a parameter, or an entry of it, is None, or a part is a WhiteKernel.
    """
    if isinstance(kernel, sk.WhiteKernel):
        raise ValueError("kernel: a WhiteKernel is noise, not a part of f: give noise instead")
    for name, value in fields_of(kernel).items():
        if isinstance(value, sk.Kernel):
            check_others(value)
        elif _has_none(value) and not (isinstance(kernel, Kernel) and name in kernel.open_fields()):
            default = inspect.signature(type(kernel)).parameters[name].default
            listed = isinstance(kernel, Kernel) and name in kernel.quantities
            if default is None and not listed:
                continue
            kind, whose = type(kernel).__name__, ""
            needed = "must have a value, because the class is no dataclass: add @dataclass"
            if is_dataclass(kernel):
                needed = "must have a value, because the field has no positive default"
            if not isinstance(kernel, Kernel):
                whose = "scikit-learn's "
                needed = "must have a value, because only kernels of bnn have open parameters"
            raise ValueError(f"kernel: {name} = {value!r:.60} of {whose}{kind}: {needed}")


def has_effect(kernel: Kernel) -> NDArray[np.bool_]:
    """Return whether inputs have an effect, (n_in,) or (1,): not with an infinite length scale."""
    lengthscales = np.ravel(getattr(kernel, "lengthscale", None))
    return np.array([L is None or np.isfinite(L) for L in lengthscales])


def of_inputs(kernel: sk.Kernel, varies: NDArray[np.bool_]) -> sk.Kernel:
    """Expand open parameters to one entry per input, open only for inputs that vary.

    Args:
        kernel: Any kernel.
        varies: Whether each of its inputs varies, (n,).

    Returns:
        The kernel, with open parameters only for inputs that vary. A term of a sum is left out if
        it is linear in constant inputs only.

    Raises:
        ValueError: If a parameter has the wrong number of entries, or no term is left.
    """

    def entries(inner: Kernel) -> dict[str, Any]:
        changed = {}
        for name, quantity in inner.open_fields().items():
            value = getattr(inner, name)
            single = value is None and varies.tolist() == [True]
            if quantity in OF_INPUTS and not single:
                current = [None] * len(varies) if value is None else list(value)
                if len(current) != len(varies):
                    needed = f"must be one, or {len(varies)} as the inputs"
                    raise ValueError(f"{name} has {len(current)} entries: {needed}")
                pairs = zip(current, varies, strict=True)
                absent = OF_INPUTS[quantity]
                values = tuple(
                    absent if v is None and not is_varying else v for v, is_varying in pairs
                )
                if all(v == 0.0 for v in values) and getattr(inner, "offset", None) == 0.0:
                    i = next(i for i, v in enumerate(current) if v is None)
                    where = f"{type(inner).__name__}: {name} is None for input {i} of the kernel"
                    raise NothingLeft(f"{where}, which is constant: set it or leave the input out")
                changed[name] = values
            elif quantity == "period" and not np.any(varies & has_effect(inner)):
                changed[name] = default_of(inner, name)  # of constant inputs, so without effect
        return changed

    return _changed(kernel, entries)


def with_values(kernel: sk.Kernel, values: Sequence[float] | Array) -> sk.Kernel:
    """Return a kernel whose open parameters have values, in the order of `open_parameters`."""
    left = iter(values)

    def set_fields(inner: Kernel) -> dict[str, Any]:
        changed = dict[str, Any]()
        for name in inner.open_fields():
            value = getattr(inner, name)
            if value is None:
                changed[name] = float(next(left))
            else:
                changed[name] = tuple(float(next(left)) if v is None else v for v in value)
        return changed

    return _changed(kernel, set_fields)


def slopes(kernel: sk.Kernel, values: Array, X: Array) -> Iterator[Array]:
    """Yield the derivatives of k(X, X) with respect to the logarithms of the open parameters.

    Args:
        kernel: A kernel with open parameters.
        values: A value for each open parameter, in the order of `open_parameters`.
        X: (N, n_in).

    Yields:
        ∂k/∂ log θ, (N, N), in this order.
    """
    parameters = open_parameters(kernel)
    if not parameters:
        return
    if isinstance(kernel, sk.Sum | sk.Product):
        n = len(open_parameters(kernel.k1))
        terms = [(kernel.k1, values[:n]), (kernel.k2, values[n:])]
        for (inner, of_inner), other in (terms, terms[::-1]):
            factor: Array | float = 1.0
            if isinstance(kernel, sk.Product) and len(of_inner):
                factor = with_values(*other)(X)
            yield from (factor * slope for slope in slopes(inner, of_inner, X))
        return
    if isinstance(kernel, sk.Exponentiation):
        power = with_values(kernel.kernel, values)(X) ** (kernel.exponent - 1.0)
        factor = kernel.exponent * power
        yield from (factor * slope for slope in slopes(kernel.kernel, values, X))
        return
    if all(parameter.kernel is kernel for parameter in parameters):
        filled = with_values(kernel, values)
        for (_, name, entry, _), value in zip(parameters, values, strict=True):
            yield value * filled.parameter_gradient(X, name, entry)
        return
    for i in range(len(values)):  # a kernel that contains another one, such as Warped
        yield differences(partial(_moved, kernel, values, X, i)) / STEP


def _moved(kernel: sk.Kernel, values: Array, X: Array, i: int, steps: float) -> Array:
    """Return k(X, X) with value i increased by a number of steps, each STEP relative to it."""
    moved = values.copy()
    moved[i] *= 1.0 + steps * STEP
    return np.asarray(with_values(kernel, moved)(X))


def fields_of(kernel: sk.Kernel) -> dict[str, Any]:
    """Return the constructor parameters of a kernel by name, none if it has no constructor."""
    return {} if isinstance(kernel, Kernel) and not _made(kernel) else kernel.get_params(deep=False)


def _has_none(value: Any) -> bool:
    return value is None or (is_row(value) and any(entry is None for entry in value))


def _made(kernel: Kernel) -> bool:
    """Return whether the class of a kernel has a constructor, whose parameters can be read."""
    return type(kernel).__init__ is not object.__init__


def _changed(kernel: sk.Kernel, change: Callable[[Kernel], dict[str, Any]]) -> sk.Kernel:
    """Return a kernel with new fields, which `change` returns for each of its parts.

    The parts are visited in the order of `open_parameters`. If nothing is left of one term of a
    sum, the other term is returned.
    """
    if isinstance(kernel, sk.Sum):
        try:
            first = _changed(kernel.k1, change)
        except NothingLeft:
            return _changed(kernel.k2, change)
        try:
            second = _changed(kernel.k2, change)
        except NothingLeft:
            return first
        same = first is kernel.k1 and second is kernel.k2
        return kernel if same else type(kernel)(first, second)
    values = fields_of(kernel)
    new = {name: _changed(v, change) for name, v in values.items() if isinstance(v, sk.Kernel)}
    if isinstance(kernel, Kernel):
        new |= change(kernel)
    differs = any(new[name] is not values[name] for name in new)
    return type(kernel)(**values | new) if differs else kernel
