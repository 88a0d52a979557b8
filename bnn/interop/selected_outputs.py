"""What the models of BoTorch share: some of their outputs can be selected."""

import copy
from typing import Self


class SelectedOutputs:
    """A model of BoTorch with several outputs.

    Attributes:
        outputs: Indices of the selected outputs.
    """

    outputs: list[int]

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def subset_output(self, idcs: list[int]) -> Self:
        """Return a model of some of the outputs."""
        model = copy.copy(self)
        model.outputs = [self.outputs[i] for i in idcs]
        return model
