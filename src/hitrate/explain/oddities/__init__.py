"""What is odd about the figures of a whole log: how cached tokens are reported, and how they are billed."""
