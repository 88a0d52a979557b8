"""Fitted estimators for other programs: one C file without dependencies, or ONNX."""

from bnn.export.c_file import to_c
from bnn.export.onnx_graph import to_onnx

__all__ = ["to_c", "to_onnx"]
