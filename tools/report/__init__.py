"""A page that shows what a pipeline did to a program."""
