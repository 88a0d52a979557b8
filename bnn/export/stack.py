"""The size of the work arrays of a C file, which have to fit the small stacks of threads."""

from collections.abc import Callable

STACK = 60_000  # bytes of all arrays of a call; the head of the file says 64 kB


def part_that_fits(
    doubles: Callable[[int, int], int], n_inputs: int, n_outputs: int, fewer: str
) -> tuple[int, int]:
    """Return how many inputs and outputs a C file treats at once.

    Args:
        doubles: Returns the size of the work arrays, in numbers of double precision, for given
            numbers of inputs and outputs.
        n_inputs: Number of inputs of the estimator.
        n_outputs: Number of its outputs.
        fewer: Advice in the message, such as "fewer data".

    Returns:
        Numbers of inputs and of outputs.

    Raises:
        ValueError: If one input and one output are too much.
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
            given = f"a point would take {needed} bytes of the stack, more than {STACK}"
            raise ValueError(f"{given}: take {fewer}")
    return inputs, outputs
