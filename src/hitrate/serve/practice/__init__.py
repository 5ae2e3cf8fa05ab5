"""A model server without a model: it follows a cache rule, keeps time, and says what it did."""
