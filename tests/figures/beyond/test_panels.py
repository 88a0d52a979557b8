"""Pictures of notebook 05."""

import matplotlib.pyplot as plt

from figures.beyond import panels as beyond_panels


def test_scores_are_labelled_without_a_number_of_cells(results):
    figure = beyond_panels.methods(results.cases["outd"], results.exact["outd"])
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["RMSE (scaled)", "miscalibration", "ELPPD, sum over test cells"]
    plt.close(figure)
