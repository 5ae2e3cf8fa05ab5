"""The words of the field as values: calls, prompts, usage, timing, results, statistics. Pure."""
