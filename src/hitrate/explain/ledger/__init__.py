"""Losses in logs without prompts: what calls left for one another, and why it was not read."""
