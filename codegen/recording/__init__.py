"""A recording of what to run for inputs of known shapes."""
