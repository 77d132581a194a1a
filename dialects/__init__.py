"""The dialects, one file each, and what all of them share."""
