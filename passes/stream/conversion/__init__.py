"""From `flow` to `stream`: control flow, executables, globals and stored tensors."""
