"""On which devices values are, and in which layouts."""
