"""A page of a real Chromium for tests: cut off from other machines, it remembers what went wrong in it."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from patience import PATIENCE
from playwright.sync_api import Browser, Error, FloatRect, Locator, Page, expect, sync_playwright

# What draws no window starts faster, and is the same engine.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
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
# An address beyond them as a pattern: Chromium hands over only what fits one, and asks Python about each request where
# a function decides. It would wait for the answer whenever a test waits for something else.
BEYOND = re.compile(r"^(?:https?|wss?|ftp)://(?!(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:[/?#]|$))")
INSIDE = {"about", "attachment", "blob", "chrome-extension", "data", "devtools", "file"}

# A machine that is busy with others is slow, not wrong.
expect.set_options(timeout=PATIENCE * 1000)

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
        assert _running[0].is_connected(), "the browser is gone"
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

    Its `.console_errors` lists every console error and uncaught exception, and its `.origins` has the address of the
    code that said it, or where it was raised; `offline` takes loopback away too.
    """
    width, height = viewport
    with running_browser() as browser:
        context = browser.new_context(viewport={"width": width, "height": height}, offline=offline)
        context.set_default_timeout(PATIENCE * 1000)
        outside: list[str] = []
        errors: list[str] = []
        origins: dict[str, str] = {}

        def hear(text: str, origin: str) -> None:
            errors.append(text)
            origins[text] = origin

        context.route(BEYOND, lambda route: route.abort())
        context.on("request", lambda request: outside.append(request.url) if is_outside(request.url) else None)
        context.on("console", lambda said: hear(said.text, said.location["url"]) if said.type == "error" else None)
        context.on("weberror", lambda raised: hear(str(raised.error), getattr(raised.error, "stack", "") or ""))
        page = context.new_page()
        page.on("websocket", lambda socket: outside.append(socket.url) if is_outside(socket.url) else None)
        page.requests_outside, page.console_errors, page.origins = outside, errors, origins  # type: ignore[attr-defined]
        try:
            yield page
        finally:
            context.close()


def these_first(names: Iterable[str], first: tuple[str, ...]) -> list[Any]:
    """The parameters of a test: those that begin so run with every submission, the others are scheduled."""
    return [pytest.param(name, marks=[] if name.startswith(first) else [pytest.mark.scheduled]) for name in names]


def eventually(read: Callable[[], Any], wanted: Any, patience: float = PATIENCE) -> Any:
    """Read again until the value equals what is wanted, or until a function that is wanted accepts it; the value."""
    end = time.monotonic() + patience
    while True:
        try:
            last = read()
            if wanted(last) if callable(wanted) else last == wanted:
                return last
        except Error as error:
            # The page that was asked has made place for the next one.
            if "Execution context was destroyed" not in str(error):
                raise
            last = error
        assert time.monotonic() < end, f"never {wanted!r}; read last: {last!r}"
        time.sleep(0.02)


def wait_until(page: Page, expression: str, arg: Any = None, patience: float = PATIENCE) -> None:
    """Wait until a JavaScript expression, or a function of `arg`, is true in the page.

    Playwright's own `wait_for_function` asks again with `eval`, which a page's content policy may forbid.
    """
    try:
        eventually(lambda: page.evaluate(expression, arg), bool, patience)
    except AssertionError as error:
        raise AssertionError(f"{error}: {expression}") from None


def settled(page: Page) -> None:
    """Wait two frames, until the browser has laid out the page again after a change of size."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def resize(page: Page, width: int, height: int) -> None:
    """Make the page's window this large, and wait until the page is laid out in it."""
    if page.viewport_size != {"width": width, "height": height}:
        page.set_viewport_size({"width": width, "height": height})
        settled(page)


def at_rest(page: Page, read: Callable[[], Any]) -> Any:
    """Return what is read of the page once it is the same in two frames."""
    seen: list[Any] = []

    def stays() -> bool:
        before = read()
        settled(page)
        seen[:] = [read()]
        return seen[0] is not None and before == seen[0]

    eventually(stays, True)
    return seen[0]


def place_of(part: Locator) -> FloatRect:
    """Return the bounding box of an element once it is there and no longer moves."""
    part.wait_for()
    return at_rest(part.page, part.bounding_box)


def inside(part: FloatRect, around: FloatRect, by: float = 0) -> bool:
    """Whether a rectangle lies within another, or leaves it by so many px at most."""
    return all(
        around[low] - by <= part[low] and part[low] + part[size] <= around[low] + around[size] + by
        for low, size in (("x", "width"), ("y", "height"))
    )


def assert_accessible(page: Page, part: str = ".wb-player") -> None:
    """Assert that axe finds nothing to complain about in these parts of the page."""
    found = Axe().run(page, part)
    assert found.violations_count == 0, found.generate_report()
