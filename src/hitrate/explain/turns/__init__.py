"""What a multi-turn test says of its calls: states, rows, and a verdict in plain words."""
