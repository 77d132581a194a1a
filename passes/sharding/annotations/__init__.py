"""The sharding annotations of a program: read and written."""
