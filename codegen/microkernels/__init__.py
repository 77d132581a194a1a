"""The inner tiles of matrix products and transposes, with all data in registers."""
