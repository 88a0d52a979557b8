"""Settings of every test session: one thread a process, no display."""

import os
import signal

# Before NumPy and PyTorch are imported: idle threads of several processes slow each other down.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell's background jobs ignore Ctrl-C, and so would the programs that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
