"""One way of testing for the whole house: one thread, the same examples everywhere, no stopwatch on them."""

import os
import signal

import hypothesis

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels for GPUs run on the CPU; read when they are defined

# Jobs in the background of a shell are born deaf to Ctrl-C, and so would be what they start to test it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("axenat", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("axenat")
