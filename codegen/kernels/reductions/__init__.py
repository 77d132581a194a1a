"""Kernels of reductions: sums and others, several results at once, and running sums.

Any structured operation has a kernel here (`ReductionLoops`), products that fit no tiles as well.
"""
