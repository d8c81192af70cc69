"""A page of a real Chromium for tests: cut off from other machines, it remembers what went wrong in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    (Path("/Applications"), "*/Contents/MacOS/Google Chrome"),
    (Path.home() / ".cache/ms-playwright", "chromium-*/*/chrome"),
    (Path.home() / "Library/Caches/ms-playwright", "chromium-*/*/*/Contents/MacOS/*"),
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
INSIDE = {"about", "attachment", "blob", "chrome-extension", "data", "devtools", "file"}

# A machine that is busy with others is slow, not wrong.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)

# Playwright's sync API refuses to start twice in a thread, so nested pages share one browser.
_running: list[Browser] = []


def find_chromium() -> str | None:
    """The path of an installed Chromium or Chrome, or None."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    return next((str(path) for folder, pattern in PLACES for path in sorted(folder.glob(pattern))), None)


def require_chromium() -> str:
    """The path of Chromium; without one the test is skipped, or fails if WORKBENCH_REQUIRE_BROWSER=1."""
    if path := find_chromium():
        return path
    sentence = "no Chromium found: install one (Debian: apt install chromium) to run the browser tests"
    if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1":
        pytest.fail(sentence)
    pytest.skip(sentence)


def is_outside(url: str) -> bool:
    """Whether a request to `url` would leave this machine."""
    parts = urlsplit(url)
    return parts.scheme not in INSIDE and parts.hostname not in LOOPBACK


@contextmanager
def running_browser() -> Iterator[Browser]:
    """The browser that runs already, or a new one that runs until the block ends."""
    if _running:
        yield _running[0]
        return
    path = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        _running.append(browser)
        try:
            yield browser
        finally:
            _running.clear()
            browser.close()


@contextmanager
def open_page(viewport: tuple[int, int] = (1280, 900), offline: bool = False) -> Iterator[Page]:
    """A fresh page whose `.requests_outside` lists each address asked for beyond loopback (all are refused).

    Its `.console_errors` lists every console error and uncaught exception; `offline` takes loopback away too.
    """
    width, height = viewport
    with running_browser() as browser:
        context = browser.new_context(viewport={"width": width, "height": height}, offline=offline)
        context.set_default_timeout(PATIENCE)
        outside: list[str] = []
        errors: list[str] = []
        context.route(is_outside, lambda route: route.abort())
        context.on("request", lambda request: outside.append(request.url) if is_outside(request.url) else None)
        context.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        context.on("weberror", lambda raised: errors.append(str(raised.error)))
        page = context.new_page()
        page.on("websocket", lambda socket: outside.append(socket.url) if is_outside(socket.url) else None)
        page.requests_outside, page.console_errors = outside, errors  # type: ignore[attr-defined]
        try:
            yield page
        finally:
            context.close()


def wait_until(page: Page, expression: str, arg: Any = None, patience: float = PATIENCE) -> None:
    """Wait until a JavaScript expression, or a function of `arg`, is true in the page, for so many milliseconds.

    Playwright's own `wait_for_function` asks again with `eval`, which a page's content policy may forbid.
    """
    end = time.monotonic() + patience / 1000
    while True:
        try:
            if page.evaluate(expression, arg):
                return
        except Error as error:
            # The page that was asked has made place for the next one.
            if "Execution context was destroyed" not in str(error):
                raise
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(20)
