"""Our RVEs beside a published direct simulation, and the pixels that it is compared with."""

import numpy as np
import pytest

from fe_data import Loading, Settings, solve_rve
from fe_data.geometry.microstructure import random_microstructure
from fe_data.mechanics.load_stepping import IncrementalRVE
from fe_data.path_following import follow
from studies.direct_simulation import __main__ as study
from studies.direct_simulation.pixel_rve import ELEMENTS, PixelRVE, strain_operators


@pytest.mark.parametrize("element", ELEMENTS)
def test_a_pixel_has_the_strain_of_a_linear_displacement(element):
    gradient = np.array([[0.1, 0.4], [-0.2, 0.3]])
    corners = 0.25 * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    u = (corners @ gradient.T).ravel()
    strains = strain_operators(element, 0.25) @ u
    np.testing.assert_allclose(
        strains, np.tile([0.1, 0.3, 0.0, 0.2], (len(strains), 1)), atol=1e-15
    )


@pytest.mark.slow
def test_pixels_approach_our_rve_from_above():
    """Standard squares lock, those of a mean dilatation less, and both fall with their size."""
    settings = Settings(n_fibres=2, hardening=study.TABLE)
    tension = Loading((0.02, None, None), increments=8)
    rve = random_microstructure(0.3, 1, 2)
    ours = solve_rve(study.INPUTS, settings, tension, microstructure=rve).history["stress"][-1, 0]

    def stiffer(element, n):
        pixels = PixelRVE(n, rve, study.INPUTS, settings, element)
        path = follow(IncrementalRVE(pixels), tension, 8, 1e-5)
        return path.history["stress"][-1, 0] / ours - 1

    mean_dilatation, squares = (stiffer(element, 32) for element in ELEMENTS)
    assert 0.01 < mean_dilatation < squares
    assert 0 < stiffer(ELEMENTS[0], 64) < 0.7 * mean_dilatation
