"""Run the command line: python -m fe_data COMMAND."""

import signal
import sys
from typing import Any, NoReturn

try:
    from fe_data.cli.main import main
    from safe_files.progress import open_streams
except ModuleNotFoundError as error:
    sys.exit(f"fe_data: {error}: the command line needs it, pip install {error.name}")


def run(**options: Any) -> NoReturn:
    """Run a command and exit with its code. Only the first Ctrl-C interrupts the command."""
    open_streams()
    signal.signal(signal.SIGINT, _interrupt_once)
    code = main(**options)
    # Libraries clean up at the end of the process. A traceback there would deny a finished command.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _interrupt_once(*_: object) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
