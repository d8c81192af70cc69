"""A plugin of pytest that is loaded before those that are installed: each process of a run starts sooner."""

from __future__ import annotations

import sys

# nbval reads notebooks through jsonschema, which builds 38 grammars as it is imported, to check addresses with letters
# beyond ASCII. No notebook has a field for them, and without this module jsonschema leaves the check out.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
