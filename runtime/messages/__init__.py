"""Collectives as steps of MPI messages, which native code carries out."""
