"""Studies are tested in the small world of the notebooks."""

from tests.figures.conftest import one_process, tables  # noqa: F401
