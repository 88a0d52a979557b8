"""Pictures of the prior study."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

from figures.prior_study import panels


def test_singular_values_have_plain_ticks():
    found = SimpleNamespace(statistics=SimpleNamespace(singular_values=np.geomspace(50, 2, 20)))
    figure = panels.singular_values(SimpleNamespace(results=dict.fromkeys("ABCD", found)))
    (axes,) = figure.axes
    figure.canvas.draw()
    shown = {text.get_text() for text in axes.get_yticklabels(which="both")}
    assert {"2", "5", "10", "20", "50"} <= shown
    assert not any("10^" in text for text in shown)
    plt.close(figure)
