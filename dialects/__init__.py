"""The dialects, one file each or several that begin alike, and what all of them share."""
