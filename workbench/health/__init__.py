"""What is wrong with a training, by its records: rules that look at it, a table, and why a gradient is as it is."""
