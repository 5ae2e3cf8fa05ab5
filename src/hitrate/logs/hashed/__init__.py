"""Prompts of which only keyed hashes, lengths and kinds are kept: how they stand in a log, and how they are read."""
