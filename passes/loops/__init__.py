"""Passes over loops of the host program."""
