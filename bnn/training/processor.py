"""Features of the processor, which decide how matrices are multiplied."""

from llvmlite import binding


def has_feature(name: str) -> bool:
    """Return whether the processor has a feature, such as fma."""
    return bool(binding.get_host_cpu_features().get(name, False))
