"""Pictures of the one-dimensional example."""

import matplotlib.pyplot as plt

from figures.example_1d import panels as example_1d_panels


def test_pictures_of_the_example_show_data_and_bands(repeats):
    found = repeats[0]
    figures = [
        example_1d_panels.vanilla(found),
        example_1d_panels.anchored(found),
        example_1d_panels.factorised(found),
    ]
    for figure in figures:
        assert all(axes.collections and axes.get_xlabel() for axes in figure.axes)
        plt.close(figure)
