"""Check what a custom law returns, once and before a simulation, with messages that name the law.

The law is evaluated at two points at rest: one is not strained, and one has a small strain.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

State = dict[str, Tensor]
_SMALL = 1e-6  # strain
_AVERAGED = {"plastic_strain": (6,), "p": (0,)}  # sizes of what the volume averages of an RVE use
_STRAINS = _SMALL * torch.tensor([[0.0] * 6, [1.0, -0.7, 0.4, 0.3, -0.2, 0.1]], dtype=torch.float64)


def check_law(
    name: str,
    step: Callable[[Tensor, State, float], tuple[Any, Any]],
    sizes: Mapping[str, int],
) -> None:
    """Check stress, tangent and state that a law returns.

    Args:
        name: Name of the law.
        step: Function of strains (2, 6), states and the duration of a step [s]. It returns stresses
            and states.
        sizes: Size of each state variable: 0 for a number, 6 for a tensor.

    Raises:
        ValueError: If the law fails, returns something else than a stress (6,) and all state
            variables in double precision, or a number that is not finite.
    """
    strain = _STRAINS.clone().requires_grad_()
    state = {key: _zeros(size) for key, size in sizes.items()}
    what = f"law {name!r:.60} at rest"
    try:
        returned = step(strain, state, 1.0)
    except Exception as error:  # of any kind, since the law is the user's code
        reason = f"{type(error).__name__}: {error}".splitlines()[0].partition(". ")[0]
        raise ValueError(
            f"{what} fails with {reason:.200}; from tensors it must compute a stress (6,) and the "
            f"state ({_names(sizes)}) by functions of PyTorch, with torch.where instead of if"
        ) from error
    stress, new = returned
    if new.keys() != sizes.keys():
        raise ValueError(f"{what} returns the state {_names(new)}: it must be {_names(sizes)}")
    _check_tensor(f"{what}: stress", stress, 6)
    for key, size in sizes.items():
        _check_tensor(f"{what}: state {key!r:.60}", new[key], size)
    if not stress.requires_grad:
        raise ValueError(f"{what}: the stress does not depend on the strain by functions of torch")
    (slope,) = torch.autograd.grad(stress.sum(), strain)
    if not slope.isfinite().all():
        raise ValueError(f"{what}: the derivative of the stress is not finite{_place(slope)}")


def require_sizes(name: str, sizes: Mapping[str, int]) -> None:
    """Raise a ValueError if a state variable of a law has a size that it cannot have."""
    kinds = {0: "0 for a number", 6: "6 for a tensor"}
    for key, size in sizes.items():
        allowed = _AVERAGED.get(key, (0, 6))
        if size not in allowed:
            what = f"law {name!r:.60}: size of the state {key!r:.60} = {size!r:.60}"
            raise ValueError(f"{what}: allowed are {' and '.join(kinds[kind] for kind in allowed)}")


def require_pair(returned: Any) -> tuple[Tensor, State]:
    """Raise a TypeError if a law does not return a tensor and a mapping of tensors."""
    if not (isinstance(returned, tuple | list) and len(returned) == 2):
        raise TypeError("it does not return a pair (stress, state)")
    stress, state = returned
    if not isinstance(stress, Tensor):
        raise TypeError("the stress is not a tensor")
    if not isinstance(state, Mapping) or not all(isinstance(v, Tensor) for v in state.values()):
        raise TypeError("the state is not a dictionary of tensors")
    return stress, dict(state)


def _zeros(size: int) -> Tensor:
    """Return a state variable at rest at both points."""
    shape = (len(_STRAINS), size) if size else (len(_STRAINS),)
    return torch.zeros(shape, dtype=torch.float64)


def _check_tensor(what: str, values: Tensor, size: int) -> None:
    """Check shape, type and finiteness of a stress or a state variable at both points."""
    expected = _zeros(size)
    if values.shape != expected.shape:
        shape, needed = tuple(values.shape[1:]), tuple(expected.shape[1:])
        raise ValueError(f"{what} has the shape {shape}: it must be {needed}")
    if values.dtype != expected.dtype:
        raise ValueError(f"{what} is {values.dtype}: it must be {expected.dtype}")
    if not values.isfinite().all():
        raise ValueError(f"{what} is not finite{_place(values)}")


def _place(values: Tensor) -> str:
    """Say at which strain values (2, ...) are not finite."""
    if not values[0].isfinite().all():
        return " at zero strain"
    return f" at a strain of {_SMALL:g}"


def _names(keys: Mapping[str, Any]) -> str:
    """Return the names of state variables for a message."""
    return ", ".join(map(str, keys)) or "none"
