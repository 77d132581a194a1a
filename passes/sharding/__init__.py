"""Passes from sharding annotations to the SPMD program of one device."""
