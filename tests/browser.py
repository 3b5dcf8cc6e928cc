"""A real browser for tests: a Chromium of the machine, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")


@dataclass
class Visit:
    """A page that is open, and what it asked for and complained about."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@contextmanager
def running() -> Iterator[Any]:
    """One browser for many visits: it takes a second or two to start."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@contextmanager
def visiting(
    browser: Any, path: Path, width: int = 1280, scheme: str = "light", touch: bool = False
) -> Iterator[Visit]:
    window = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "has_touch": touch}
    context = browser.new_context(**window)
    visit = Visit(page=context.new_page())
    visit.page.on("request", lambda request: visit.requests.append(request.url))
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    visit.page.on("console", lambda message: visit.complaints.append(message.text))
    visit.page.goto(path.resolve().as_uri())
    yield visit
    context.close()
