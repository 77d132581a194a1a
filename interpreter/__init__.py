"""The reference interpreter in NumPy: runs the IR of any stage, with all devices in lockstep."""
