"""What modules refuse, word for word PyTorch's (PyTorch 2.13)."""

from __future__ import annotations

ATTRIBUTE_EXISTS = "attribute '{}' already exists"

NAME_KIND = "{} name should be a string. Got {}"
NAME_EMPTY = '{} name can\'t be empty string ""'

EMPTY_INIT = "Initializing zero-element tensors is a no-op"

INIT_MATRIX = "Only tensors with 2 dimensions are supported"

CELL_DIMS = "{}: Expected {} to be 1D or 2D, got {}D instead"

MASK_DIMS = "For {} `query`, expected `{}` to be `None`{} but found {}-D tensor instead"
