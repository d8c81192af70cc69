"""Pictures of a program: recording, records, views, drawing, and what steps or runs it to draw it."""
