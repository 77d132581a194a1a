"""Evaluate loop nests on whole arrays: accesses become views, and bodies run once for all points.

Sums of products become dense products, and other reductions combine halves.
"""
