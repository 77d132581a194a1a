"""Host code programs, and the virtual machine that runs them."""
