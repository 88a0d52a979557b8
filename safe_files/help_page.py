"""Sections of docs/when_something_fails.md to which errors and warnings send their readers."""

from typing import ClassVar, Literal

PAGE = "docs/when_something_fails.md"
Section = Literal[
    "clusters", "gpu", "memory", "meshing", "microstructures", "newtons-method", "slow-fits",
    "warnings",
]  # fmt: skip


def see(section: Section) -> str:
    """Return the words that lead to a section of the page."""
    return f"see {PAGE}#{section}"


class ExplainedError(Exception):
    """An error whose traceback ends with the section that explains it.

    The section is a note, so the text of the error stays short in tables and records.
    """

    section: ClassVar[Section]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.add_note(see(self.section))


class ExplainedWarning(UserWarning):
    """A warning whose text ends with the section that explains it."""

    section: ClassVar[Section] = "warnings"

    def __str__(self) -> str:
        return f"{super().__str__()}; {see(self.section)}"
