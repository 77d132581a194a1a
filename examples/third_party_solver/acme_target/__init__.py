"""A target for mesh-opt that lives in a package of its own."""
