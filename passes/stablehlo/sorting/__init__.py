"""Rules of sorts and of `chlo.top_k`."""
