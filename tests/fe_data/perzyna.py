"""A law of a user, which the tests register."""

import torch

from fe_data import law
from fe_data.composite.laws import deviator, pressure_stress, von_mises


@law(
    "perzyna",
    parameters={"yield_stress_MPa": (1e-3, 1e6), "viscosity_MPa_s": (0.0, 1e12)},
    state={"plastic_strain": 6, "p": 0},
)
def perzyna(strain, state, material):
    """Viscoplastic: the rate of p is (q - yield stress) / viscosity."""
    trial = 2 * material.shear * (deviator(strain) - state["plastic_strain"])
    q = von_mises(trial)
    resistance = 3 * material.shear + material.viscosity_MPa_s / material.dt
    dp = torch.relu(q - material.yield_stress_MPa) / resistance
    flow = 1.5 * trial / q
    stress = pressure_stress(strain, material) + trial - 2 * material.shear * dp * flow
    return stress, {"plastic_strain": state["plastic_strain"] + dp * flow, "p": state["p"] + dp}
