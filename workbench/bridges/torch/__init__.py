"""Real PyTorch in the workbench's pictures.

`workbench.record(torch)` and `workbench.show(tensor)` need no import of this package.
"""
