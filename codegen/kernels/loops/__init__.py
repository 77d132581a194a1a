"""Loop nests, cut into tiles of work that threads share, and the memory that their bodies use."""
