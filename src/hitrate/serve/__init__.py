"""The practice server."""
