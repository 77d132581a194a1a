"""Programs of host instructions, and the virtual machine that runs them."""
