"""Real traffic recorded: HTTP exchanges in, `Call`s in the store out. Nothing here opens a network connection."""
