"""The recording proxy: bytes pass between a client and an upstream as they arrive, and a copy becomes an `Exchange`."""
