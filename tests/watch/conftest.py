"""A real browser for the tests of the page, where there is one."""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser():
    """Headless, with a profile of its own. For one module: the driver has a running event loop in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra `browser`)")
    found = os.environ.get("CHROME") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed, and CHROME names none")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A page, and what went wrong on it."""

    def __init__(self, page):
        self.page = page
        self.faults = []
        self.requests = []
        page.set_default_timeout(20_000)
        page.on(
            "console",
            lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def visit(browser):
    """Opens an address in a window of its own. In the end nothing went wrong, and no other machine was asked."""
    visits = []

    def open_page(address, *, wait_for=".cell", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        one = Visit(context.new_page())
        visits.append(one)
        one.page.goto(address)
        if wait_for:
            one.page.wait_for_selector(wait_for)
        return one.page

    yield open_page
    for one in visits:
        one.page.context.close()
    assert [fault for one in visits for fault in one.faults] == []
    assert [url for one in visits for url in one.requests if not url.startswith("http://127.0.0.1:")] == []
