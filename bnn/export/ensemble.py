"""Ensembles as tables of constants for C."""

import numpy as np

from bnn._validation import Array, check_integer
from bnn.ensembles.ensemble import EnsembleRegressor
from bnn.ensembles.members import Members
from bnn.export.stack import part_that_fits
from bnn.export.tables import Table

ROW = 800  # weights per string; C99 guarantees strings of 4095 characters
DIGITS = np.array([c for c in range(ord("#"), ord("z")) if chr(c) not in "?\\"], dtype=np.uint8)

# φ(z) and dφ / dz, for each of bnn.networks.activations.ACTIVATIONS.
ACTIVATIONS_IN_C = {
    "leaky_relu": ("(z > 0.0 ? z : 0.01 * z)", "(z > 0.0 ? 1.0 : 0.01)"),
    "relu": ("(z > 0.0 ? z : 0.0)", "(z > 0.0 ? 1.0 : 0.0)"),
    "tanh": ("tanh(z)", "(1.0 - tanh(z) * tanh(z))"),
    "silu": ("(z / (1.0 + exp(-z)))", "((1.0 + z / (1.0 + exp(z))) / (1.0 + exp(-z)))"),
    "identity": ("(z)", "1.0"),
}


def chosen_weights(model: EnsembleRegressor, members: int | None) -> tuple[Members, Array]:
    """Return the members, and the weights of the first `members` of them in double precision."""
    fitted = model.fitted_members()
    K = len(fitted.weights)
    if members is not None:
        check_integer("members", members, 2)
        if members > K:
            raise ValueError(f"members = {members}: the ensemble has {K}")
    return fitted, fitted.weights[:members].astype(float)


def clipped_to(members: Members) -> Array:
    """Return the bounds of predictions, (2, n_out), infinite for outputs without bounds."""
    none = np.array([[-np.inf], [np.inf]])
    bounds = none if members.bounds is None else members.bounds
    return np.broadcast_to(bounds, (2, members.architecture.n_outputs)).astype(float)


def ensemble_tables(members: Members, weights: Array) -> dict[str, Table]:
    """Return the constants of ensemble.c by name; weights must be exact in single precision."""
    single = weights.astype(np.float32)
    net = members.architecture
    if not np.array_equal(single, weights):
        raise ValueError("the weights of the ensemble: must be of single precision")
    # The 32 bits of a weight are an integer, written with five digits of base 85.
    bits = single.ravel().view(np.uint32)[:, None]
    digits = bits // 85 ** np.arange(4, -1, -1) % 85
    text = DIGITS[digits].tobytes().decode("ascii")
    value, slope = ACTIVATIONS_IN_C[net.activation]
    rows = [text[i : i + 5 * ROW] for i in range(0, len(text), 5 * ROW)]
    low, high = clipped_to(members)
    ins = members.input_scaler
    outs = members.output_scaler
    K = len(weights)

    def doubles(inputs: int, outputs: int) -> int:
        widest = max(*net.widths[:-1], outputs)
        return (1 + inputs) * (2 * widest + (K + 2) * outputs)

    fewer = "fewer members or narrower layers"
    inputs, outputs = part_that_fits(doubles, net.n_inputs, net.n_outputs, fewer)
    return {
        "N_IN": net.n_inputs,
        "N_OUT": net.n_outputs,
        "INPUTS": inputs,
        "OUTPUTS": outputs,
        "K": K,
        "LAYERS": len(net.layers),
        "WEIGHTS": net.n_weights,
        "WIDEST": max(*net.widths[:-1], outputs),
        "WIDTHS": np.array(net.widths),
        "VALUE(z)": value,
        "SLOPE(z)": slope,
        "IN_CENTRE": ins.centre,
        "IN_HALF": ins.half_range,
        "OUT_CENTRE": outs.centre,
        "OUT_HALF": outs.half_range,
        "LOW": low,
        "HIGH": high,
        "ROW": ROW,
        "TEXT": np.array(rows),
    }
