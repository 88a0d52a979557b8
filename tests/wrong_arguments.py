"""Valid and wrong values of any argument, and what is wrong with the answer to a wrong one."""

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

HUGE = 10**400  # no float
SCATTERED = np.cos(np.arange(16.0)).reshape(8, 2)
WRONG = [
    None,
    "a",
    "",
    "a\0b",
    b"a",
    True,
    False,
    -1,
    0,
    1,
    2.5,
    -0.5,
    1e300,
    np.nan,
    np.inf,
    -np.inf,
    1j,
    (),
    [],
    {},
    {"a": 1},
    {1, 2},
    [1, "a"],
    [[1.0], [1.0, 2.0]],
    int,
    object(),
    range(3),
    np.zeros(0),
    np.zeros((0, 2)),
    np.zeros((8, 0)),
    np.zeros((3, 2)),
    np.zeros((8, 3)),
    np.zeros((8, 2, 2)),
    np.zeros(8),
    np.full((8, 2), np.nan),
    np.full((8, 2), 1j),
    np.full((8, 2), None),
    np.full((8, 2), "a"),
    np.array(1.0),
    np.array("a"),
    np.eye(2),
    -np.eye(2),
    np.ma.masked_array(np.ones((8, 2)), np.eye(8)[:, :2]),
    np.datetime64("2020-01-01"),
    [1.0, 2.0],
    [1.0, -2.0],
    (1.0, 0.0),
    ("a", "b"),
    HUGE,
    lambda *_, **__: "a",
    10**30,
    1e-300,
    1e-30,
    np.full((8, 2), np.inf),
    1e300 * SCATTERED,
    1e99 * SCATTERED,
    1e-300 * SCATTERED,
    1e-155 * SCATTERED,
    1e-100 * SCATTERED,
    [np.nan, 1.0],
    (10**30, 2),
    "cpufoo",
]


def arguments(function: Callable[..., object], values: dict[str, Any]) -> dict[str, Any]:
    """Valid values of all parameters of a function: those of their names, or the defaults."""
    parameters = inspect.signature(function).parameters.values()
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    return {parameter.name: values.get(parameter.name, parameter.default) for parameter in named}


def complaint(
    function: Callable[..., object],
    values: dict[str, Any],
    argument: str,
    also: str,
    *allowed: type,
) -> str | None:
    """None where a call works, raises what is allowed, or names the argument (or `also`)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**values)
        except allowed:
            return None
        except np.linalg.LinAlgError as error:  # a ValueError, but a library's own
            return f"{type(error).__name__}: {error}"
        except (ValueError, TypeError) as error:
            if re.search(rf"\b({argument}|{also})\b", str(error)):
                return None
            return f"{type(error).__name__}: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None
