"""Read the NumPy arrays in a pickle file without running anything that the file says.

A pickle is a program. This reader goes through its opcodes with `pickletools`, which only decodes
them, and keeps its own stack: numbers, texts, lists, tuples, dictionaries and the four calls that
rebuild an array are understood, everything else is refused.
"""

import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fe_data.published.array_stand_ins import CALLS, MAX_BYTES, Array, DType, Global, UnsafePickle

MAX_DEPTH = 6
MAX_ITEMS = 1_000_000  # in all containers
MAX_NUMBERS = 50_000_000  # in all arrays, shared ones counted each time


def load_arrays(path: Path) -> Any:
    """Arrays, and lists, tuples, dictionaries, numbers and texts around them, of a pickle file.

    Raises:
        UnsafePickle: the file holds anything else; nothing of it has been run.
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise UnsafePickle(f"{path} has {size} bytes: at most {MAX_BYTES} are read")
    try:
        return _plain(_Reader().read(path.read_bytes()), [MAX_ITEMS, MAX_NUMBERS])
    except UnsafePickle as error:
        raise UnsafePickle(f"{path}: {error}") from None
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UnsafePickle(f"{path} is not a whole pickle file: {str(error)[:100]}") from None


class _Reader:
    """A stack machine for the opcodes that data needs."""

    def __init__(self):
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def read(self, data: bytes) -> Any:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return self.stack.pop()
            self._step(opcode.name, argument)
        raise UnsafePickle("the file ends too early")

    def _step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _TUPLES:
            count = _TUPLES[name]
            self._replace(count, tuple(self.stack[len(self.stack) - count :]))
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in _NOTHING:
            raise UnsafePickle(f"opcode {name} is not admitted: only numeric NumPy arrays are")

    def _replace(self, count: int, value: Any) -> None:
        if count > len(self.stack):
            raise UnsafePickle("the stack is too short")
        del self.stack[len(self.stack) - count :]
        self.stack.append(value)

    def _since_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def _mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def _put(self, number: int | None) -> None:
        self.memo[len(self.memo) if number is None else number] = self.stack[-1]

    def _get(self, number: int) -> None:
        self.stack.append(self.memo[number])

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._since_mark()))

    def _list(self, _: Any) -> None:
        self.stack.append(self._since_mark())

    def _dict(self, _: Any) -> None:
        items = self._since_mark()
        self.stack.append({})
        self._add_items(items)

    def _append(self, _: Any) -> None:
        self._add_to_list([self.stack.pop()])

    def _appends(self, _: Any) -> None:
        self._add_to_list(self._since_mark())

    def _set_item(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._add_items([key, value])

    def _set_items(self, _: Any) -> None:
        self._add_items(self._since_mark())

    def _add_to_list(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise UnsafePickle("items are added to something else than a list")
        target.extend(items)

    def _add_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict) or not all(isinstance(k, str | int) for k in items[::2]):
            raise UnsafePickle("keys of a dictionary must be texts or integers")
        target.update(zip(items[::2], items[1::2], strict=True))

    def _global(self, name: str) -> None:
        self._push_global(name.replace(" ", ".", 1))

    def _stack_global(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise UnsafePickle("a name that is not a text")
        self._push_global(f"{module}.{name}")

    def _push_global(self, name: str) -> None:
        known = name.replace("numpy._core.", "numpy.core.", 1)
        if known not in CALLS and known != "numpy.ndarray":
            raise UnsafePickle(f"{name!r:.80} is not admitted: only numeric NumPy arrays are")
        self.stack.append(Global(known))

    def _reduce(self, _: Any) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        if not isinstance(function, Global) or function.name not in CALLS:
            raise UnsafePickle("a call of something else than NumPy's array functions")
        self.stack.append(CALLS[function.name](*arguments))

    def _build(self, _: Any) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, DType | Array):
            raise UnsafePickle("a state for something else than a NumPy array")
        target.build(state)


_NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
_TEXTS = {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE"}
_LONG_TEXTS = {"SHORT_BINUNICODE", "BINUNICODE8"}
_BYTES = {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
_VALUES = _NUMBERS | _TEXTS | _LONG_TEXTS | _BYTES
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = {"PROTO", "FRAME"}
_ACTIONS: dict[str, Callable[[_Reader, Any], None]] = {
    "MARK": _Reader._mark,
    "PUT": _Reader._put,
    "BINPUT": _Reader._put,
    "LONG_BINPUT": _Reader._put,
    "MEMOIZE": _Reader._put,
    "GET": _Reader._get,
    "BINGET": _Reader._get,
    "LONG_BINGET": _Reader._get,
    "TUPLE": _Reader._tuple,
    "LIST": _Reader._list,
    "DICT": _Reader._dict,
    "APPEND": _Reader._append,
    "APPENDS": _Reader._appends,
    "SETITEM": _Reader._set_item,
    "SETITEMS": _Reader._set_items,
    "GLOBAL": _Reader._global,
    "STACK_GLOBAL": _Reader._stack_global,
    "REDUCE": _Reader._reduce,
    "BUILD": _Reader._build,
}


def _plain(value: Any, budget: list[int], depth: int = 0) -> Any:
    """Arrays in place of their stand-ins; bounds what shared and nested containers unfold to."""
    budget[0] -= 1
    if depth > MAX_DEPTH or budget[0] < 0:
        raise UnsafePickle("containers are nested too deeply or hold too much")
    if isinstance(value, Array):
        if value.values is None:
            raise UnsafePickle("an array without data")
        budget[1] -= value.values.size
        if budget[1] < 0:
            raise UnsafePickle(f"arrays of more than {MAX_NUMBERS} numbers in all")
        return value.values
    if isinstance(value, list | tuple):
        return type(value)(_plain(item, budget, depth + 1) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, Global | DType):
        raise UnsafePickle("a bare type in place of an array")
    return value
