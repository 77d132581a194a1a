"""From annotations to one device's program with collectives."""
