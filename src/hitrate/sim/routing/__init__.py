"""Routing policies, one file each."""
