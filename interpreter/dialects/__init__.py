"""What operations mean, one file for each dialect; `registry` imports a file when it is needed.

`kernels` has the dispatches of several dialects, `pass_through` operations that compute nothing.
"""
