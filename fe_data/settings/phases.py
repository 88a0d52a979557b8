"""The constants of the paper's two phases, which inputs and settings give."""

from typing import NamedTuple

from fe_data.settings.hardening import Hardening
from fe_data.settings.simulation import Inputs, Settings


class PaperPhases(NamedTuple):
    """Constants of elastic fibres in an elastic matrix that yields and hardens.

    >>> PaperPhases.of(Inputs(0.25, 400.0, 300.0, 0.5), Settings()).longitudinal_modulus(0.25)
    175000.0
    """

    E_f_GPa: float
    b_m_MPa: float
    c_m: float
    E_m_GPa: float
    nu_m: float
    nu_f: float
    sigma_y0_MPa: float
    hardening: Hardening

    @classmethod
    def of(cls, inputs: Inputs, settings: Settings) -> "PaperPhases":
        """Take the constants of the phases from inputs and settings."""
        constants = {**vars(settings), **vars(inputs)}
        return cls(**{name: constants[name] for name in cls._fields})

    def longitudinal_modulus(self, vf: float) -> float:
        """Return Young's modulus along the fibres [MPa]."""
        # Rule of mixtures: along the fibres both phases have the same strain.
        return 1e3 * (vf * self.E_f_GPa + (1 - vf) * self.E_m_GPa)

    def elastic_strain(self, share: float) -> float:
        """Return a share of the yield strain of the matrix [-]."""
        return share * self.sigma_y0_MPa / (1e3 * self.E_m_GPa)
