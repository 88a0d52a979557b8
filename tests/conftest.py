"""Settings of every test session: one thread a process, no display."""

import os

# Before NumPy and PyTorch are imported: idle threads of several processes slow each other down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
