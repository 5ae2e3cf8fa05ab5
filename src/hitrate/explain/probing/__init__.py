"""From what the calls of a probe showed to an answer with its interval or p-value. Pure: no I/O, no clock."""
