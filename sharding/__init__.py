"""Sharding algebra: grids, shardings, factor rules, propagation, resharding and cost. No IR."""
