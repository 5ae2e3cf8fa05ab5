"""Pure cache models: the same code says what should have been cached, serves the practice server and simulates."""
