"""Prompts to token ids."""
