"""The recording proxy: passes HTTP on, byte for byte, and hands each exchange to a `hitrate.record.exchange.Sink`."""
