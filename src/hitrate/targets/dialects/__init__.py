"""Wire formats, found by name."""
