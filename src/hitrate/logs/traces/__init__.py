"""Traces: requests whose prompts are known as blocks, from files without prompts or from logs. One file a format."""
