"""Run the command line: python -m fe_data COMMAND."""

import signal
import sys
from typing import Any, NoReturn

from fe_data.cli.main import main
from fe_data.progress import open_streams


def run(**options: Any) -> NoReturn:
    """Run a command and exit with its code. Only the first Ctrl-C interrupts the command."""
    open_streams()
    signal.signal(signal.SIGINT, _interrupt_once)
    sys.exit(main(**options))


def _interrupt_once(*_: object) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
