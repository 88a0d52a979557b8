"""Loading paths in a CSV file with one row per vertex."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fe_data.files.csv_rows import Problems, TableError, parse_float, parse_integer, read_rows
from fe_data.loading import ALL_AXES, AXES, Loading

COMPONENTS = tuple(f"{kind}_{axes}" for kind in ("strain", "stress") for axes in ALL_AXES)
COLUMNS = ("path", *COMPONENTS, "increments", "temperature", "time")


class _Vertex(NamedTuple):
    """One row of a file."""

    line: int
    strain: list[float | None]  # mean strains [-]; None is free
    stress: list[float]  # mean stresses of free components [MPa]
    increments: int | None  # None is the default of the settings
    temperature: float  # change from the stress-free state [K]
    time: float | None  # [s]


def loadings_from_file(path: Path) -> list[Loading]:
    r"""Read loading paths from a CSV file with one row per vertex.

    The columns are:

    - `strain_xx`, `strain_yy`, `strain_xy`: prescribed mean strain [-]; empty or missing means free
    - `stress_xx`, `stress_yy`, `stress_xy`: mean stress [MPa] of a free component; empty or missing
      means zero
    - `increments`: number of increments to the vertex, in all rows of a path or in none
    - `path`: number of the path, 0, 1, 2, ...; omit it if there is only one

    For the general solver there are further columns:

    - `temperature`: change from the stress-free state [K]; empty keeps the value of the vertex
      before
    - `time`: time at the vertex [s], in all rows of a path or in none, which is 1 s per row
    - columns of zz, xz or yz: one of them makes all paths of the file six-component paths, in
      generalised plane strain

    Args:
        path: The CSV file.

    Returns:
        The paths, in the order of their numbers.

    Raises:
        TableError: If an entry or a path is invalid. The message has line number, column and value
            of each invalid entry, or the number of the path.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from fe_data import loadings_from_file
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "paths.csv")
        ...     _ = path.write_text("path,strain_xx\n0,0.02\n0,0.01\n1,0.03\n")
        ...     loadings = loadings_from_file(path)
        >>> [loading.strain for loading in loadings]
        [((0.02, None, None), (0.01, None, None)), ((0.03, None, None),)]
    """
    loadings = []
    paths = _vertices_of_paths(path)
    # As for components, one path with a temperature or time makes it a column of all paths.
    all_vertices = [vertex for vertices in paths.values() for vertex in vertices]
    heated = any(vertex.temperature for vertex in all_vertices)
    timed = any(vertex.time is not None for vertex in all_vertices)
    for number, vertices in paths.items():
        try:
            loadings.append(_loading(vertices, heated=heated, timed=timed))
        except ValueError as error:
            raise TableError(f"{path}, path {number}: {error}") from None
    return loadings


def _vertices_of_paths(path: Path) -> dict[int, list[_Vertex]]:
    """Read the vertices of each path, by its number, in the order of the file."""
    problems = Problems(path)
    paths: dict[int, list[_Vertex]] = {}
    for line, row in read_rows(path, (), COLUMNS, others=False):
        axes_given = {name[-2:] for name in row.keys() & set(COMPONENTS)}
        axes_of_file = AXES if axes_given <= set(AXES) else ALL_AXES
        filled = {name: text for name, text in row.items() if text}
        parse = partial(problems.parse, line, filled)
        number = parse(parse_integer, "path", 0)
        vertices = paths.setdefault(number, [])
        temperature = vertices[-1].temperature if vertices else 0.0
        vertex = _Vertex(
            line,
            [parse(parse_float, f"strain_{axes}", None) for axes in axes_of_file],
            [parse(parse_float, f"stress_{axes}", 0.0) for axes in axes_of_file],
            parse(parse_integer, "increments"),
            parse(parse_float, "temperature", temperature),
            parse(parse_float, "time"),
        )
        vertices.append(vertex)
        if number >= len(paths):
            problems.add(line, f"path = {number} is out of order: expected is {len(paths) - 1}")
    problems.raise_if_any()
    _require_all_or_none(path, paths)
    return paths


def _require_all_or_none(path: Path, paths: dict[int, list[_Vertex]]) -> None:
    """Raise a TableError if only some rows of a path have increments or a time."""
    problems = Problems(path)
    for vertices in paths.values():
        for name in ("increments", "time"):
            lines = [vertex.line for vertex in vertices if getattr(vertex, name) is None]
            for line in lines if len(lines) < len(vertices) else []:
                problems.add(line, f"{name} is empty: fill all rows of its path or none")
    problems.raise_if_any()


def _loading(vertices: Sequence[_Vertex], *, heated: bool, timed: bool) -> Loading:
    """Build the loading of some vertices; a ValueError if a path cannot go along them."""
    _, strain, stress, increments, temperature, time = zip(*vertices, strict=True)
    counts = None if None in increments else increments
    if None in time:
        time = tuple(range(1, len(time) + 1))  # as by default
    return Loading(strain, stress, counts, temperature if heated else None, time if timed else None)
