"""Checks of a request body before it is sent, one file each."""
