"""What the engine said, kept: a recorder hears events, they are read as records and replayed as frames."""
