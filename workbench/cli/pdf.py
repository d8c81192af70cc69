"""A page as a PDF file, printed by a browser that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from workbench.cli.command import CommandError
from workbench.scene.picture import write_whole

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"%PROGRAMFILES%\Google\Chrome\Application\chrome.exe",
    r"%PROGRAMFILES(X86)%\Microsoft\Edge\Application\msedge.exe",
)
_SECONDS = 120


def find_browser() -> str:
    """The path of an installed Chromium, Chrome or Edge; a CommandError says what to do without one."""
    places = (place for place in map(os.path.expandvars, _PLACES) if os.path.exists(place))
    found = next((path for name in _NAMES if (path := shutil.which(name))), None) or next(places, None)
    if found is None:
        raise CommandError(
            "no Chromium, Chrome or Edge is found to print a PDF: give FILE.html, and print it from any browser."
        )
    return found


def print_to_pdf(browser: str, page: str, target: Path) -> None:
    """Print the text of a page that needs nothing else into a PDF file."""
    with TemporaryDirectory() as folder:
        source, made = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        flags = ["--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer"]
        flags += [f"--user-data-dir={folder}", f"--print-to-pdf={made}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")  # it refuses to run as root otherwise; the page is our own and loads nothing
        try:
            ran = subprocess.run([browser, *flags, source.as_uri()], capture_output=True, text=True, timeout=_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CommandError(f"{browser} could not print the PDF: {error}.") from None
        if not made.exists():
            said = (ran.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise CommandError(f"{browser} could not print the PDF: {said}")
        write_whole(target, made.read_bytes())
