"""Replace encoded tensors by packed ones, in executables and in host programs."""
