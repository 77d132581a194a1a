"""Which operations become one kernel, and how it is outlined."""
