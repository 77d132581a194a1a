"""Rules of custom calls, and of ops that are kept."""
