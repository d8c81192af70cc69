"""What is wrong with a training, by its records: rules that look at it, a table of it, and why a gradient is as it is."""
