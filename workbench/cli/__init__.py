"""The command `workbench`: open the lessons in JupyterLab, run notebooks into pages, hand them out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workbench.cli.command import KINDS, CommandError, parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line and return its exit code; what goes wrong is one sentence on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("--no-browser", "--port") or words[0].startswith("--port="):
        words.insert(0, "lab")
    try:
        asked = parser().parse_args(words)
        # Jupyter takes most of a second to import, so each command loads its own part.
        if asked.command == "run":
            from workbench.cli.run import run

            run(asked.notebooks, asked.html)
        elif asked.command == "book":
            from workbench.cli.book import book

            book(asked.folder)
        elif asked.command == "present":
            from workbench.cli.present import present

            present(asked.notebook, asked.handout)
        elif asked.command == "release":
            from workbench.cli.release import release

            release(asked.source, *next((kind, out) for kind, out in vars(asked).items() if kind in KINDS and out))
        else:
            from workbench.cli.lab import lab

            lab(asked.folder, browser=asked.browser, port=asked.port)
    except CommandError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("workbench: stopped by Ctrl-C.", file=sys.stderr)
        return 130
    return 0
