"""K fully connected networks of one architecture, stored as one weight matrix (K, d)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from bnn._seeding import RandomState, generator
from bnn._validation import MOST, Floats, check_count, check_integers, check_option
from bnn.networks.activations import ACTIVATIONS
from bnn.storage import storable
from safe_files.text import Short

INITIALISATIONS = ("glorot", "he")
Weights = TypeVar("Weights", Floats, Tensor)


@dataclass(frozen=True)
class Layer:
    """Position of a layer in a weight vector: kernel (n_in, n_out), row by row, then bias."""

    index: int
    n_in: int
    n_out: int
    start: int

    @property
    def kernel(self) -> slice:
        """Columns of W^(l) in the weight matrix."""
        return slice(self.start, self.start + self.n_in * self.n_out)

    @property
    def bias(self) -> slice:
        """Columns of b^(l) in the weight matrix."""
        return slice(self.kernel.stop, self.stop)

    @property
    def stop(self) -> int:
        """Index after the last weight of the layer."""
        return self.start + (self.n_in + 1) * self.n_out


@storable
@dataclass(frozen=True, repr=False)
class MLP(Short):
    """A fully connected network f^ω: widths, activation and weight layout.

    Attributes:
        widths: Numbers of inputs, of neurons in each hidden layer, and of outputs.
        activation: Activation of the hidden layers: "leaky_relu", "relu", "tanh", "silu" or
            "identity". The output is linear.

    Examples:
        >>> import bnn
        >>> import numpy as np
        >>> network = bnn.MLP((2, 8, 1), "tanh")
        >>> weights = network.initial_weights(3, random_state=0)
        >>> weights.shape
        (3, 33)
        >>> network.forward(weights, np.zeros((5, 2))).shape
        (3, 5, 1)
    """

    widths: tuple[int, ...]
    activation: str = "leaky_relu"

    def __post_init__(self) -> None:
        check_integers("widths", self.widths, 1)
        object.__setattr__(self, "widths", tuple(self.widths))
        if len(self.widths) < 2:
            raise ValueError(f"widths = {self.widths}: must be at least two integers >= 1")
        if self.n_weights > MOST:
            needed = f"at most {MOST}"
            raise ValueError(f"widths = {self.widths}: {self.n_weights} weights, must be {needed}")
        check_option("activation", self.activation, ACTIVATIONS)

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.widths[0]

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.widths[-1]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers 0..L in order."""
        layers = []
        start = 0
        for index, (n_in, n_out) in enumerate(pairwise(self.widths)):
            layers.append(Layer(index, n_in, n_out, start))
            start = layers[-1].stop
        return tuple(layers)

    @property
    def n_weights(self) -> int:
        """Number of weights and biases, d."""
        return self.layers[-1].stop

    @cached_property
    def groups(self) -> dict[str, slice]:
        """Columns of each kernel and bias: W0, b0, W1, b1, ..."""
        groups = {}
        for layer in self.layers:
            groups[f"W{layer.index}"] = layer.kernel
            groups[f"b{layer.index}"] = layer.bias
        return groups

    def unpack(self, weights: Weights) -> list[tuple[Weights, Weights]]:
        """Split weights into the kernels and biases of the layers, as views.

        Args:
            weights: Weights of K networks, (K, d), array or tensor.

        Returns:
            Kernel, (K, n_in, n_out), and bias, (K, n_out), of each layer.
        """
        self._check(weights)
        return [
            (weights[:, s.kernel].reshape(-1, s.n_in, s.n_out), weights[:, s.bias])
            for s in self.layers
        ]

    def initial_weights(
        self, n: int, random_state: RandomState = None, init: str = "glorot"
    ) -> Floats:
        """Draw initial weights, with biases of zero.

        Args:
            n: Number of networks.
            random_state: Seed.
            init: "glorot": uniform between ±sqrt(6 / (n_in + n_out)); or "he": normal with standard
                deviation gain / sqrt(n_in), where the gain depends on the activation.

        Returns:
            Weights, (n, d) float32.

        Raises:
            ValueError: If init is unknown or n is invalid.
        """
        check_option("init", init, INITIALISATIONS)
        check_count("n", n, 1)
        rng = generator(random_state)
        weights = np.zeros((n, self.n_weights), dtype=np.float32)
        for layer in self.layers:
            shape = (n, layer.n_in * layer.n_out)
            if init == "glorot":
                limit = np.sqrt(6.0 / (layer.n_in + layer.n_out))
                weights[:, layer.kernel] = rng.uniform(-limit, limit, shape)
            else:
                deviation = ACTIVATIONS[self.activation].gain / np.sqrt(layer.n_in)
                weights[:, layer.kernel] = rng.normal(0.0, deviation, shape)
        return weights

    @torch.no_grad()
    def forward(self, weights: Weights, X: Floats | Tensor) -> Weights:
        """Evaluate K networks.

        Args:
            weights: Weights, (K, d), array or tensor.
            X: Inputs, (n, n_in) for all networks, or (K, n, n_in).

        Returns:
            f^ω(X), (K, n, n_out), an array or a tensor in the precision of weights.

        Raises:
            ValueError: If a shape is wrong.
        """
        if not isinstance(weights, Tensor):
            return self.forward(torch.as_tensor(np.ascontiguousarray(weights)), X).numpy()
        # The values of the last layer are the outputs; those of other layers are not kept.
        for _, values in self.layer_values(weights, X):  # noqa: B007
            pass
        return values

    def layer_values(self, weights: Tensor, X: Floats | Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Evaluate K networks layer by layer; all code outside the training loop uses this method.

        Args:
            weights: Weights, (K, d).
            X: Inputs, (n, n_in) for all networks, or (K, n, n_in).

        Yields:
            For each layer its inputs a, (K, n, n_in of the layer), and z = a W + b, (K, n, n_out of
            the layer). The z of the last layer are the outputs.

        Raises:
            ValueError: If a shape is wrong.
        """
        layers = self.unpack(weights)
        activation = ACTIVATIONS[self.activation]
        X = torch.as_tensor(X, dtype=weights.dtype, device=weights.device)
        separate = X.ndim == 3 and X.shape[0] == len(weights)
        if not (separate or X.ndim == 2) or X.shape[-1] != self.n_inputs:
            raise ValueError(
                f"X has shape {tuple(X.shape)}: must be (n, {self.n_inputs}) or "
                f"({len(weights)}, n, {self.n_inputs})"
            )
        inputs = X if separate else X.expand(len(weights), -1, -1)
        for number, (kernel, bias) in enumerate(layers, start=1):
            z = torch.baddbmm(bias.unsqueeze(1), inputs, kernel)
            yield inputs, z
            if number < len(layers):
                inputs = torch.empty_like(z)
                activation.forward(z, inputs)

    def _check(self, weights: Floats | Tensor) -> None:
        if weights.ndim != 2 or weights.shape[1] != self.n_weights:
            shape = tuple(weights.shape)
            raise ValueError(f"weights have shape {shape}: must be (K, {self.n_weights})")
