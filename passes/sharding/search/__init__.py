"""From programs to what `sharding/search` decides, and back to annotations."""
