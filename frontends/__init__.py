"""Front ends: compile JAX functions and PyTorch modules, and call them on their own values."""
