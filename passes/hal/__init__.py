"""Passes at the edge between programs and the devices that run them."""
