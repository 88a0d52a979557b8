"""The elements of the fast solver in the general one, so that both solve the same equations."""

import numpy as np
import pytest

from fe_data.composite import model, rve
from fe_data.composite.model import FEModel, PhaseElements, shape_gradients, strain_operator


class FastElements(FEModel):
    """Discrete equations with P2 elements, whose dilatation is constant in the matrix.

    At three integration points, linear functions interpolate any dilatation, so `strain_operator`
    projects nothing.
    """

    def _phase_elements(self, name, material, chosen):
        elements = np.flatnonzero(chosen)
        gradients, weights = shape_gradients(self.domain.points[self.domain.triangles[elements]])
        gradients[:, :, -1] = 0.0  # no bubble
        B = strain_operator(gradients, weights, self.block)
        if name == "matrix":
            # B̄ = B + 1/3 1 ⊗ (mean of div - div)
            divergence = B[:, :, :3].sum(axis=2, keepdims=True)
            w = weights[:, :, None, None]
            mean = (w * divergence).sum(axis=1, keepdims=True) / w.sum(axis=1, keepdims=True)
            B[:, :, :3] += (mean - divergence) / 3
        B = B.reshape(len(B), -1, B.shape[-1])
        return PhaseElements(name, material, elements, self._elements[elements], B, weights)

    def _assemble_elastic(self):
        super()._assemble_elastic()
        K = self._constant[0]  # the amplitudes of the bubbles remain, without any force
        bubbles = self._slots[:, -1, -1]
        K[bubbles] = np.eye(self.block) * np.abs(K).max()


@pytest.fixture
def fast_elements(monkeypatch):
    """Let the general solver have the elements and the mesh of the fast one."""
    monkeypatch.setattr(model, "_DEGREE", 2)
    monkeypatch.setattr(rve, "FEModel", FastElements)
    monkeypatch.setattr(rve, "with_layer", lambda mesh, _: mesh)
