"""Helpers for lowering asynchronous operations to commands: storage, partitions, timepoints."""
