"""Shardy's dialect `sdy`."""
