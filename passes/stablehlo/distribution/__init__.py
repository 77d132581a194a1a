"""Rules of collectives, and of programs that run on several processes."""
