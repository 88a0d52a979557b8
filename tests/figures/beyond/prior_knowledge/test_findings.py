"""Claims of notebook 06 follow its numbers."""

from dataclasses import fields

import pytest

from figures.beyond.prior_knowledge.findings import claims, equivalents
from figures.beyond.prior_knowledge.study import MODELS, ReferenceScores
from figures.pipeline.settings import PriorKnowledge
from figures.scores import Interval

COUNTS = PriorKnowledge().counts
CASES = [*(f"ind{count}" for count in COUNTS), "outd"]


def judged(rmse, elppd=0.0, draws=3):
    values = {field.name: rmse for field in fields(ReferenceScores)} | {"elppd": elppd}
    return ReferenceScores(
        **{k: Interval(tuple(v + 1e-4 * i for i in range(draws))) for k, v in values.items()}
    )


@pytest.fixture
def rows():
    """The error is 1 / cells, and half of it with mean fields; the density rises model by model."""
    cells = dict(zip(CASES, (*COUNTS, 50), strict=True))
    return {
        case: {
            name: judged((0.5 if name in ("fields", "fitted") else 1.0) / n, 100.0 * i)
            for i, name in enumerate(MODELS)
        }
        for case, n in cells.items()
    }


def test_claims_turn_with_the_numbers(rows):
    found = claims(rows, alone=0.1, spread=0.1, corners=0.2)
    assert [claim.holds for claim in found] == [True, False, True, True, True, True, True]
    rows["ind10"]["fitted"] = judged(0.015)
    rows["outd"]["fitted"] = judged(0.05)
    rows["ind25"]["by_input"] = rows["ind25"]["paper"]
    found = claims(rows, alone=0.13, spread=0.2, corners=0.2)
    assert [claim.holds for claim in found] == [False, True, False, False, True, False, False]


def test_mean_fields_are_worth_twice_their_cells(rows):
    worth = ["20", "20", "50", "100", "more than 100"]
    assert [*equivalents(rows, alone=0.05).values()] == worth
    assert equivalents(rows, alone=0.2)["0"] == "fewer than 10"
