"""Tables 3 and 4 and Fig. 14 out of distribution over more draws: python -m studies.further_draws.

A draw is one independently simulated set of training and test RVEs. The study simulates 36 draws
with other seeds (3,600 RVEs), and adds them to the 24 draws that come with the package. Existing
RVEs are not simulated again. It writes the gains to docs/tables/further_draws.csv, and the scores
of each draw to results.json in its folder. Training for one draw takes about a minute on one core.

With --published it instead simulates the inputs of the published tables six times.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from figures.pipeline.paths import (
    ROOT,
    SHIPPED_TABLES,
    TEST,
    TRAINING,
    drawn,
    require_tables,
    table_path,
)
from figures.pipeline.profiles import Profile, load_profile
from figures.pipeline.settings import TRAINING_CASE
from studies.further_draws.simulation import simulate_further, simulate_published

if TYPE_CHECKING:
    from figures.materials_surrogate.surrogate import Rows

OUT = ROOT / "build" / "further_draws"
TABLE = ROOT / "docs" / "tables" / "further_draws.csv"
SCORES = Path(__file__).with_name("results.json")
SEED = 0  # as in notebook 04b_repeated_datasets, whose 24 draws are the first 24 here


def out_of_distribution(folder: Path) -> Profile:
    """Return the full profile with one training case, and the number of draws in a folder."""
    from figures.composite.problem import load_paper_table

    profile = load_profile("full")
    assert profile.draws
    case = profile.surrogate.cases[TRAINING_CASE]
    counts = []
    for design in (TEST, case.design):
        require_tables(drawn(folder), design)
        table = load_paper_table(table_path(drawn(folder), design))
        counts.append(table.n_rows // profile.datasets[design])
    surrogate = profile.surrogate.model_copy(update={"cases": {TRAINING_CASE: case}})
    draws = profile.draws.model_copy(update={"count": min(counts)})
    return profile.model_copy(update={"surrogate": surrogate, "draws": draws})


def table(rows: "Rows", outside: Sequence[float]) -> tuple[list[str], list[list[str]]]:
    """Return header and lines of the table of gains, with p-values of Wilcoxon's test."""
    from scipy.stats import wilcoxon

    from figures.materials_surrogate.surrogate import improvements
    from figures.repeated_datasets.draws import ALL, gains, table_of_gains
    from figures.scores import written

    gain_of = gains(rows, outside)
    every = [pair for by_output in gain_of.values() for pair in by_output.items()]
    printed = table_of_gains(gain_of, len(outside))
    lines = []
    for line, (name, gain) in zip(printed.rows, every, strict=True):
        p = f"{wilcoxon(gain.gain.values).pvalue:.2g}" if name == ALL else ""
        lines.append([*line, p])
    gained = improvements(rows, TRAINING_CASE)["rmse"]
    second = gained["E_eff_GPa"] - gained["b_eff_MPa"]
    empty = [""] * (len(printed.header) - 1)
    lines.append(["RMSE, gain of E_eff less gain of b_eff", written(second, 3), *empty])
    of_intervals = {"gain", printed.header[-1]}
    header = [
        f"{column} ± 95 % half-width" if column in of_intervals else column
        for column in printed.header
    ]
    return [*header, "Wilcoxon p"], lines


def compare(folders: list[Path]) -> None:
    """Write the gain by anchoring over all draws, and print the verdicts on claims of the paper."""
    # Imported here, so that --help does not wait for PyTorch.
    from figures.composite.draws import load_draws
    from figures.markdown import comma_separated, markdown
    from figures.materials_surrogate.surrogate import comparison_claims
    from figures.pipeline.provenance import describe
    from figures.repeated_datasets.draws import over_draws, train_draws
    from figures.scores import write_json
    from safe_files.writing import write_atomic

    started = time.perf_counter()
    profiles = {folder: out_of_distribution(folder) for folder in (SHIPPED_TABLES, *folders)}
    draws = [draw for folder, profile in profiles.items() for draw in load_draws(folder, profile)]
    profile = profiles[SHIPPED_TABLES]
    rows = over_draws(train_draws(draws, profile, SEED))
    outside = [draw.outside for draw in draws]
    header, lines = table(rows, outside)
    print(f"{len(draws)} draws")
    print(markdown(header, lines))
    inputs = [
        table_path(drawn(folder), design) for folder in profiles for design in (TEST, TRAINING)
    ]
    seconds = time.perf_counter() - started
    # First the commit is described: afterwards the new table would be an uncommitted change.
    made = describe(profile.model_dump(mode="json"), inputs, SEED, seconds)
    write_atomic(TABLE, comma_separated(header, lines).encode(), None)
    write_json(SCORES, {"outside": outside, "rows": rows, "provenance": made})
    count = len(draws[0].cases[TRAINING_CASE])
    for claim in comparison_claims(rows, {TRAINING_CASE: count}):
        verdict = {True: "holds", False: "does not hold", None: "undecided"}[claim.holds]
        print(f"{claim.about}: {claim.claim}: {verdict}")


def main() -> None:
    """Simulate the missing draws, then compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the simulated draws")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes of the simulation")
    parser.add_argument(
        "--published",
        type=Path,
        metavar="FOLDER",
        help="folder of the published tables: simulate their inputs six times, into --out",
    )
    options = parser.parse_args()
    if options.published and options.published.resolve() == options.out.resolve():
        parser.error(f"--out {options.out}: must be another folder, the published tables are there")
    try:
        if options.published:
            profile = simulate_published(options.published, options.out, options.jobs)
            words = [f"PROFILE={profile}", f"DATA={options.out}", sys.executable]
            print(f"train with: env {shlex.join(words)} -m doit repeats")
        else:
            compare(simulate_further(options.out, options.jobs))
    except (FileNotFoundError, RuntimeError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
