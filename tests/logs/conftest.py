"""Puts this folder on the import path, so that tests of the formats below share `log_files`."""
