"""Devices on MPI ranks: their messages, threads, failures and calls."""
