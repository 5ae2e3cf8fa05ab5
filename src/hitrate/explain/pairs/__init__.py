"""Which calls of a log belong together: conversations found without ids, and what each call could have reused."""
