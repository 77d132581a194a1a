"""The meaning of the `hal` dialect: buffer views, buffers and commands, executables, dispatches."""
