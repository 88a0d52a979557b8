"""How the published training code changes Table 3: python -m studies.training_procedures [FOLDER].

The published code differs from the procedure that the paper describes. The study starts with the
described procedure and adds the differences one after the other, with six seeds each. FOLDER has
the tables: the shipped ones by default, or the published ones as `import-published` writes them.
The study takes about ten minutes on two cores.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from figures.pipeline.paths import SHIPPED_TABLES, TEST
from figures.pipeline.profiles import load_profile
from figures.pipeline.settings import TRAINING_CASE

# Fields of `Procedure`, in the order in which they are changed.
FIELDS = ("bias_correction", "batch_sums", "own_points", "degrees_lost", "from_trained")
WORKERS = "workers"  # last: eight optimisers in pre-training instead of one
SEEDS = 6


def main() -> None:
    """Print Table 3 for the tables of a folder, with one more difference each time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=SHIPPED_TABLES, help="folder of tables"
    )
    folder = parser.parse_args().folder
    # Imported here, so that --help does not wait for PyTorch.
    from figures.composite.problem import fit_theta, load_cases, load_samples
    from figures.materials_surrogate.surrogate import SCORES, score_rows, train
    from figures.pipeline.processes import repeated
    from figures.pipeline.training import PROCEDURES
    from prior_study import config

    settings = load_profile("full").surrogate
    cases = load_cases(folder, settings.cases)
    test_set = load_samples(folder, TEST)
    theta = fit_theta(cases[TRAINING_CASE])
    procedure = PROCEDURES["proper"]
    published = replace(PROCEDURES["published"], workers=config.WORKERS)
    for field in ("as described", *FIELDS, WORKERS):
        if field != "as described":
            procedure = replace(procedure, **{field: getattr(published, field)})
        arguments = cases, test_set, theta, settings, procedure
        rows = score_rows(repeated(train, *arguments, seed=0, repeats=SEEDS))
        print(field if field == "as described" else f"+ {field}")
        for name, row in rows.items():
            numbers = (getattr(row, score) for score in SCORES)
            cells = (f"{number.mean:9.3f} ± {number.std:<7.3f}" for number in numbers)
            print(f"  {name:16}", *cells, flush=True)


if __name__ == "__main__":
    main()
