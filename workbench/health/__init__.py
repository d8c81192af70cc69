"""What is wrong with a training, by its records: one pass over them, rules that look at it, and what they find."""
