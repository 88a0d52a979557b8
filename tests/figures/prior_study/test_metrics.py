"""Figures and numbers of the study."""

import json
from dataclasses import asdict

import matplotlib.pyplot as plt
import pytest

from figures.prior_study import panels as prior_study_panels
from figures.prior_study.metrics import claims as study_claims
from figures.prior_study.metrics import variance_table, weight_table


@pytest.mark.parametrize(
    "name",
    ["priors", "histograms", "correlations", "reconstructed", "distances", "singular_values"],
)
def test_every_panel_of_the_study_shows_something_with_a_name(study, name):
    figure = getattr(prior_study_panels, name)(study)
    for axes in figure.axes:
        assert axes.lines or axes.images or axes.patches or axes.collections
        assert axes.get_title() or axes.get_xlabel() or axes.get_ylabel()
    plt.close(figure)


def test_tables_of_the_study_are_plain_values(study):
    tables = [f(study) for f in (variance_table, weight_table)]
    tables.append([asdict(claim) for claim in study_claims(study)])
    assert json.loads(json.dumps(tables, allow_nan=False)) == tables


def test_claim_of_growing_variance_is_borne_out(study):
    (claim,) = [each for each in study_claims(study) if each.about == "Table 1"]
    assert claim.holds


def test_every_figure_and_table_of_the_study_has_a_claim(study):
    places = {each.about for each in study_claims(study)}
    assert places == {"Fig. 1", "Fig. 2", "Fig. 3", "Fig. 4", "Fig. 5", "Table 1"}
