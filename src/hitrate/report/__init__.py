"""Results as table, JSON, CSV, Markdown and HTML."""
