"""Custom forms of xDSL's operations that lose something there, each naming the gap it closes."""
