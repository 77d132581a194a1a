"""The reference interpreter in NumPy: runs the IR of any stage, with all devices in lockstep.

The files here are the machine: programs, frames, devices, resources, and the table of what executes
an operation (`registry`). It knows no operation. `nests` evaluates loop nests on whole arrays, and
`dialects` has what operations mean.
"""
