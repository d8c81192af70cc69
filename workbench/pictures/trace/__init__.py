"""A recording of the engine: a recorder stores its events, which are read as records and replayed as frames."""
