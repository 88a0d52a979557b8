"""How results depend on the mesh: python -m studies.mesh prints two tables.

The first has properties with the phases of the paper, the second stresses of other materials.
"""

import argparse

from figures.markdown import table_lines
from studies.mesh import materials, paper

TABLES = {"paper": paper, "materials": materials}


def main() -> None:
    """Print the tables, each row as soon as its RVEs are solved."""
    parser = argparse.ArgumentParser("python -m studies.mesh", description=__doc__)
    parser.add_argument("--table", choices=TABLES, help="print only one table")
    options = parser.parse_args()
    for name, table in TABLES.items():
        if options.table in (None, name):
            for line in table_lines(table.HEADER, table.rows()):
                print(line, flush=True)


if __name__ == "__main__":
    main()
