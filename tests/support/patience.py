"""How long a test waits for something that happens in another process or thread before it gives up.

It is a bound on hanging, never a statement about speed: a busy machine may take any time up to it.
"""

PATIENCE = 90.0  # seconds
