"""From a program with shardings to one device's program."""
