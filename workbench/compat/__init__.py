"""What PyTorch has and the workbench hasn't: names that do nothing here, and names that are refused by a sentence."""
