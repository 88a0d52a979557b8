"""Settings of a network: hidden layers, activation and initial weights."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnn._settings import Settings
from bnn._validation import check_count, check_integers, check_option, is_row
from bnn.networks.activations import ACTIVATIONS
from bnn.networks.mlp import INITIALISATIONS, MLP
from bnn.storage import storable

MOST_LAYERS = 1000  # networks with more layers cannot be trained


@storable
@dataclass(repr=False)
class Architecture(Settings):
    """Architecture of the networks; the data determine their numbers of inputs and outputs.

    Args:
        hidden: Widths of the hidden layers.
        activation: Activation of the hidden layers: "leaky_relu", "relu", "tanh", "silu" or
            "identity".
        init: Distribution of the initial weights, "glorot" or "he".

    Examples:
        >>> import bnn
        >>> bnn.Architecture(hidden=(50, 50), activation="silu").mlp(n_inputs=4, n_outputs=5)
        MLP(widths=(4, 50, 50, 5), activation='silu')
    """

    hidden: Sequence[int] = (20, 20, 20, 20)
    activation: str = "leaky_relu"
    init: str = "glorot"

    def __post_init__(self) -> None:
        if is_row(self.hidden) and len(self.hidden) > MOST_LAYERS:
            raise ValueError(f"hidden has {len(self.hidden)} widths: must be at most {MOST_LAYERS}")
        check_integers("hidden", self.hidden, 1)
        check_option("activation", self.activation, ACTIVATIONS)
        check_option("init", self.init, INITIALISATIONS)

    def mlp(self, n_inputs: int, n_outputs: int) -> MLP:
        """Return the network for given numbers of inputs and outputs.

        Args:
            n_inputs: Number of inputs.
            n_outputs: Number of outputs.

        Returns:
            A multilayer perceptron of these widths.

        Raises:
            ValueError: If a number is invalid, or there are too many weights.
        """
        check_count("n_inputs", n_inputs, 1)
        check_count("n_outputs", n_outputs, 1)
        return MLP((n_inputs, *self.hidden, n_outputs), self.activation)
