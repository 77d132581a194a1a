"""Parse pass pipelines and their options, and run them."""
