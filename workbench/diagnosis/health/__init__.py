"""What is wrong with a training run, from its records: rules, a table, and explanations of gradients."""
