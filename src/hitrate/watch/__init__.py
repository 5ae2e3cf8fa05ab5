"""The live page: what is being recorded, as it happens."""
