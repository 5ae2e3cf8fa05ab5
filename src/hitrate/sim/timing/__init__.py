"""Virtual time: how long an engine takes over its requests, and what its settings are worth, fitted to a real one."""
