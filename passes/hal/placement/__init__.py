"""Where the processes of grids run."""
