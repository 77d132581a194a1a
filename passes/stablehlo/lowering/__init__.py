"""The state of a conversion, its emitters, and the tables of rules."""
