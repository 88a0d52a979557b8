"""Run the command line: python -m fe_data COMMAND."""

import sys

from fe_data.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
