"""Convert dispatches to `stream`, specialise encodings per device, schedule and allocate."""
