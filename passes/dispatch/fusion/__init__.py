"""Decide which operations form one kernel, and outline it."""
