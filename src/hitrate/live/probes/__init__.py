"""Small experiments on a target, one file each, for what its vendor or engine does not publish."""
