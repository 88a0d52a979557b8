"""Tables of the guides, beside the metrics that they are made of."""

import json

import numpy as np
from scipy.stats import t

from figures.beyond.methods import LABELS
from figures.knowledge.findings import in_words
from figures.knowledge.study import MODELS
from figures.pipeline.paths import REFERENCE, ROOT
from figures.pipeline.profiles import KNOWLEDGE


def test_the_coverage_of_f_is_told_of_every_estimator_that_was_judged():
    """Mean and interval over 24 draws, in the row of the estimator and the column of the cells."""
    page = (ROOT / "docs" / "estimator_tables.md").read_text(encoding="utf-8")
    block = page.partition("<!-- knowledge_coverage -->\n")[2].partition("\n<!-- end")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
    header, _, *rows = cells
    shown = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    metrics = json.loads((REFERENCE / f"{KNOWLEDGE}.json").read_text(encoding="utf-8"))
    judged = 0
    labels = {name: model.label for name, model in MODELS.items()}
    for group, words in (("rows", labels), ("ensembles", LABELS)):
        for case, models in metrics[group].items():
            for name, scores in models.items():
                values = scores["truth_coverage"]["values"]
                assert len(values) == 24
                half = t.ppf(0.975, 23) * np.std(values, ddof=1) / np.sqrt(24)
                expected = f"{np.mean(values):.3f} ± {half:.3f}"
                assert shown[words[name]][in_words(case)] == expected
                judged += 1
    assert judged == sum(cell != "" for row in rows for cell in row[1:])
