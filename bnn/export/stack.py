"""Limit of the work arrays of a C file, which must fit into the small stacks of threads."""

from collections.abc import Callable

STACK = 60_000  # bytes of all arrays of a call; the comment in the C file promises 64 kB


def part_that_fits(
    doubles: Callable[[int, int], int], n_inputs: int, n_outputs: int, fewer: str
) -> tuple[int, int]:
    """Return how many inputs and outputs the C code can process at once.

    Args:
        doubles: Function that returns how many double-precision numbers the work arrays hold, for
            given numbers of inputs and outputs.
        n_inputs: Number of inputs of the estimator.
        n_outputs: Number of outputs of the estimator.
        fewer: Advice for the error message, such as "fewer data".

    Returns:
        Numbers of inputs and of outputs.

    Raises:
        ValueError: If even one input and one output need too much stack.
    """
    inputs = n_inputs
    outputs = n_outputs
    # Inputs are split first: outputs share hidden layers, so splitting them repeats more work.
    while 8 * doubles(inputs, outputs) > STACK:
        if inputs > 1:
            inputs = (inputs + 1) // 2
        elif outputs > 1:
            outputs = (outputs + 1) // 2
        else:
            needed = 8 * doubles(1, 1)
            what = f"a point would take {needed} bytes of the stack, more than {STACK}"
            raise ValueError(f"{what}: take {fewer}")
    return inputs, outputs
