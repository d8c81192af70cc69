"""What an op is: declared, compiled, dispatched, pushed forward (jvp) and run in batches (vmap)."""
