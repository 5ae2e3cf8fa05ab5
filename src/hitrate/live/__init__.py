"""Talking to targets: the measuring client and the runs made with it."""
