"""The reference semantics in NumPy: any stage's IR, all devices in lockstep."""
