"""Measure, explain, price and raise the prefix-cache hit rate of LLM traffic."""

__version__ = "0.1.0"
