"""Formats in and out, and the store of runs."""
