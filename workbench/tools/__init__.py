"""What runs a function of the user's, records it and draws it."""
