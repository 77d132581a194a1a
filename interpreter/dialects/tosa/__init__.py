"""The meaning of the `tosa` dialect."""
