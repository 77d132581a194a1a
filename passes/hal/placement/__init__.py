"""Place the processes of grids on devices."""
