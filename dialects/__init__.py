"""The dialects: one file for each, or a folder with several."""
