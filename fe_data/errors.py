"""Errors that a simulated cell can end in; each message says what happened and where."""


class SimulationError(RuntimeError):
    """A cell could not be simulated; `generate` records the reason and retries the sample once."""


class MicrostructureError(SimulationError):
    """No admissible fibre arrangement was found."""


class MeshError(SimulationError):
    """The mesh has an invalid element or unpaired periodic nodes."""


class ConvergenceError(SimulationError):
    """Newton's method failed even after the load step was cut back to its minimum."""


class FitError(SimulationError):
    """Effective properties could not be extracted from the averaged curves."""
