"""Log formats, one file each: which they are is told by `hitrate.logs.sniff`."""
