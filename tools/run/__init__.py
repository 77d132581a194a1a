"""The parts of `mesh-run`."""
