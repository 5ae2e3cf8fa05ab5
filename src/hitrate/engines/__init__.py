"""Real engines started on this machine."""
