"""What the trace warns of in several places."""

BUSY = "The lines of Functions are not recorded: a debugger or a coverage tool traces this thread already."
