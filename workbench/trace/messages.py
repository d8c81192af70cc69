"""What the trace refuses and warns of: most of it says what is wrong with a file that is read."""

BUSY = "The lines of Functions are not recorded: a debugger or a coverage tool traces this thread already."

# Of a file as a whole.
NO_LIST = "This trace has no list of {}."
IN_TRACE = "{} {} of this trace {}."
PART_WRONG = "Part {} of this trace has a wrong {}."

# Of an event, a form, a kind or a value in it: what `IN_TRACE` says of it.
UNKNOWN_KIND = "is of the unknown {} {!r}"
UNKNOWN = "speaks of an unknown {}"
FIELD = "has a {} {} {!r}"
WRONG = "has a wrong {}"
TOO_LONG = "has a {} of {:,} {}, and at most {:,} are read"
CHARACTERS = "has a {} of {:,} characters"
CHANGES = "makes more changes, with those before it, than a recording does"
NUMBERS = "has {} numbers for the shape {}"
BELOW_ITSELF = "has {!r} stand below itself"
AGAIN = "{} {!r} again"
