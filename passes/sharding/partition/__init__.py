"""Partition a program with shardings into the program of one device."""
