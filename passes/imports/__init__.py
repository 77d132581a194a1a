"""Convert annotations and ops of other dialects to the dialects of this compiler."""
