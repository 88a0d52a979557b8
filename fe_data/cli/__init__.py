"""The command line, python -m fe_data: exit codes, and how a command says what is wrong."""

import sys

OK, INCOMPLETE, REFUSED, INTERRUPTED = 0, 1, 2, 130


def say(message: object, code: int) -> int:
    """Print one sentence on the standard error output; returns the exit code."""
    print(f"fe_data: {message}", file=sys.stderr)
    return code
