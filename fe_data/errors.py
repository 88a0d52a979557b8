"""Errors that end a simulation; each message says what happened and where."""


class SimulationError(RuntimeError):
    """A simulation failed; `generate` records the reason and repeats the sample once."""


class MicrostructureError(SimulationError):
    """No admissible fibre arrangement was found."""


class MeshError(SimulationError):
    """The mesh has an invalid element or unpaired periodic nodes."""


class ConvergenceError(SimulationError):
    """Newton's method failed even after the load step was cut back to its minimum."""


class FitError(SimulationError):
    """The averaged curves do not have effective properties."""
