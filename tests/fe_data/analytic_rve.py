"""A closed-form stand-in for the finite-element RVE, able to fail in every way an RVE can."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from fe_data.errors import MeshError


@dataclass(frozen=True)
class AnalyticRVE:
    """Simulator whose outputs are a smooth function of the inputs plus a scatter from the seed."""

    seconds: float = 0.0
    failing: frozenset[int] = frozenset()  # seeds whose mesh is invalid
    killing: frozenset[int] = frozenset()  # seeds that take their process down
    killing_once: tuple[int, Path] | None = None  # a seed that does so the first time only
    raising: tuple[int, BaseException] | None = None  # a seed, and what it raises
    log: Path | None = None  # one empty file per simulated seed, named by attempt

    def __call__(self, inputs, seed, settings, loading=None):
        time.sleep(self.seconds)
        if self.log is not None:
            (self.log / f"{seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
        self._misbehave(seed)
        scatter = 0.01 * np.random.default_rng(seed).standard_normal(5)
        end = settings.strain if loading is None else loading.strain[0][0]
        strain = np.linspace(0.0, end, settings.increments + 1)
        curve = np.outer(strain, [1.0, -0.3, 0.0, 0.0])
        stiffness = 1.0 + inputs.vf
        mean = [
            inputs.b_m_MPa * stiffness,
            inputs.c_m,
            100 * stiffness,
            0.3 - 0.03 * inputs.vf,
            0.5,
        ]
        names = ("b_eff_MPa", "c_eff", "E_eff_GPa", "nu_eff", "p_sigma")
        return SimpleNamespace(
            effective=dict(zip(names, np.array(mean) * (1 + scatter), strict=True)),
            history={"strain": curve, "stress": 1e5 * curve, "yielded_fraction": strain / 0.05},
            fibre_centres=np.random.default_rng(seed).random((settings.n_fibres, 2)),
            fibre_radii=None,
            info={"n_dofs": np.int64(10), "warning": "", "residual": np.float64(1e-3)},
        )

    def _misbehave(self, seed):
        if seed in self.failing:
            raise MeshError(f"element 7 of the mesh of seed {seed} is inverted")
        if self.raising is not None and seed == self.raising[0]:
            raise self.raising[1]
        if seed in self.killing:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.killing_once is not None and seed == self.killing_once[0]:
            marker = self.killing_once[1]
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    from fe_data.__main__ import run

    run(simulator=AnalyticRVE(seconds=float(os.environ.get("CELL_SECONDS", "0"))))
