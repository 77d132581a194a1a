"""Programs of host instructions, and the machine that runs them."""
