"""Export of fitted estimators to other programs, as one C file without dependencies or as ONNX."""

from bnn.export.c_file import to_c
from bnn.export.onnx_graph import to_onnx
from bnn.export.path_file import path_to_c

__all__ = ["path_to_c", "to_c", "to_onnx"]
