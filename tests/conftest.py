"""One way of testing for the whole house: one thread, the same examples everywhere, no stopwatch on them."""

import os

import hypothesis

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels for GPUs run on the CPU; read when they are defined

hypothesis.settings.register_profile("axenat", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("axenat")
