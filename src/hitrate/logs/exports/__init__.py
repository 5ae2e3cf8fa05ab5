"""Calls written in other forms, a file each: JSONL without loss, Parquet, an anonymised trace."""
