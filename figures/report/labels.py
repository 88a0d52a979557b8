"""Words for names in metrics files, and formats for their numbers."""

import math
import re
from collections.abc import Mapping
from typing import Any

from figures.report.comparison import Check

SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LABELS = {  # name in metrics files → words on the page
    "vf": "v_f",
    "E_f_GPa": "E_f",
    "b_m_MPa": "b_m",
    "b_eff_MPa": "b_eff",
    "E_eff_GPa": "E_eff",
    "nu_eff": "ν_eff",
    "p_sigma": "p_σ",
    "rmse": "RMSE",
    "elppd": "ELPPD",
    "train_beta": "second training set",
    "train_uniform": "first training set",
    "generalised_normal": "generalised normal",
    "low_rank": "multivariate Gaussian",
    "outd": "out of distribution",
    "subsets_as_in_paper": "subsets as in the paper",
    "inputs_below_chance": "inputs of the paper's subsets below chance",
    "most_in_a_draw": "most subsets in one dataset",
    **{
        f"{name} {scale}": f"{words}, L = {scale}"
        for scale in ("0.1", "1")
        for name, words in {
            "anchored": "anchored",
            "factorised": "factorised",
            "exact": "exact posterior",
            "published": "factorised, published anchors",
        }.items()
    },
}
NAMES = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, LABELS))}|ind(\d+))(?!\w)")


def label(text: str, sizes: Mapping[str, int] | None = None) -> str:
    """Replace names in a text by words; `sizes` has the number of RVEs of each training set."""
    counts = sizes or {}
    return NAMES.sub(
        lambda name: LABELS.get(name[0], f"{counts.get(name[0], name[2])} RVEs in distribution"),
        text,
    )


def column_decimals(rows: Mapping[str, Mapping[str, Check]]) -> dict[str, int]:
    """Return the decimals of our numbers in each column of a table."""
    columns = next(iter(rows.values()), {})
    return {column: max(cells[column].decimals for cells in rows.values()) for column in columns}


def power(number: float) -> str:
    """Format a power of ten, such as 0.001 as 10⁻³."""
    return "10" + str(round(math.log10(number))).translate(SUPERSCRIPTS)


def brief(values: Any, sizes: Mapping[str, int] | None = None) -> str:
    """Format our numbers for a claim: on one line, or one line per group."""
    if isinstance(values, Mapping) and "values" in values:  # number of repeated trainings
        return brief(values["mean"])
    if isinstance(values, Mapping):
        words = {label(name, sizes): brief(value, sizes) for name, value in values.items()}
        nested = {name for name, text in words.items() if ": " in text}
        lines = (f"{n} ({t})" if n in nested else f"{n}: {t}" for n, t in words.items())
        return ("\n" if nested else "; ").join(lines)
    if not isinstance(values, float):
        return label(str(values), sizes)
    if values and abs(values) < 1e-4:
        mantissa, exponent = f"{values:.2e}".split("e")
        return f"{mantissa} × {power(10.0 ** int(exponent))}".replace("-", "−")
    text = f"{values:#.3g}" if abs(values) < 999.5 else f"{values:.0f}"  # without an exponent
    return text.rstrip(".").replace("-", "−")
