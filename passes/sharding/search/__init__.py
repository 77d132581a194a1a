"""Convert programs to search problems (`sharding/search`), and solutions to annotations."""
