"""The Shardy dialect `sdy`."""
