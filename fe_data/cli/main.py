"""Run one command of `python -m fe_data`: generate, rve, compare, curves, statistics, ..."""

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

import fe_data
from fe_data.cli.commands import app
from fe_data.cli.messages import INCOMPLETE, INTERRUPTED, OK, REFUSED, say, shortened
from fe_data.errors import SimulationError, memory_errors
from safe_files.help_page import see

if TYPE_CHECKING:
    from fe_data.dataset.worker import Simulator


def main(arguments: Sequence[str] | None = None, *, simulator: "Simulator | None" = None) -> int:
    """Run one command.

    Args:
        arguments: Words of the command line; None uses the arguments of this process.
        simulator: Simulator that `generate` uses instead of the finite-element RVE.

    Returns:
        The exit code: 0 if all results are complete, 1 if results are missing, 2 for invalid
        arguments, 130 after an interruption.
    """
    # command.main() would turn an interrupt into an error without its message.
    command = typer.main.get_command(app)
    words = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        return _invoke(command, words, simulator)


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print only the message of a warning, without its place in the code."""
    say(message, OK)


def _invoke(command: Any, words: list[str], simulator: "Simulator | None") -> int:
    """Run a command and return its exit code; errors are printed as sentences."""
    try:
        with memory_errors(), command.make_context("fe_data", words, obj=simulator) as context:
            return int(command.invoke(context))
    except typer.Exit as stop:  # after --help
        return stop.exit_code
    except typer.TyperException as error:
        at = getattr(error, "ctx", None)
        place = at.command_path if at else "fe_data"
        sentence = shortened(error.format_message().rstrip("."))
        print(f"{place}: {sentence}; see {place} --help", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt as interrupt:
        return say(str(interrupt) or "interrupted", INTERRUPTED)
    except UnicodeEncodeError as error:  # from a path that joblib passes to a new process
        return say(f"the locale cannot encode a path ({error}): set PYTHONUTF8=1", INCOMPLETE)
    except ValueError as error:
        return say(error, REFUSED)
    except (
        SimulationError,
        fe_data.FolderLockedError,
        fe_data.GenerationError,
        ImportError,
    ) as error:
        return say(error, INCOMPLETE)
    except MemoryError as error:
        sentence = f"out of memory: {error}".removesuffix(": ")
        return say(f"{sentence}; {see('memory')}", INCOMPLETE)
    except OSError as error:
        reason = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        return say(reason, INCOMPLETE)
