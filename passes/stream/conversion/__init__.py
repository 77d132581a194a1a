"""Convert `flow` to `stream`: control flow, executables, globals and tensors."""
