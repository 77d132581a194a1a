"""Dispatches, affinities and encodings specialised per device."""
