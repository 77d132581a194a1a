"""Rules of reductions: along dimensions, over windows, and running ones."""
