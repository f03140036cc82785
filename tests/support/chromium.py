"""A browser, where this machine has one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

DRIVERS = ("chromedriver",)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

# It is to draw a file: no sandbox, since tests may run as root, and no talk with its makers.
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; what needs it is skipped where there is none."""
    selenium = pytest.importorskip("selenium.webdriver", reason="the page is looked at through selenium")
    path, driver = (next(filter(None, map(shutil.which, names)), None) for names in (BROWSERS, DRIVERS))
    if path is None or driver is None:
        pytest.skip("the page is looked at in Chromium, and it or its chromedriver is not installed here")
    options = selenium.ChromeOptions()
    options.binary_location = path
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for option in OPTIONS:
        options.add_argument(option)
    chromium = selenium.Chrome(options, selenium.ChromeService(driver))
    yield chromium
    chromium.quit()


def size(browser: Any, width: int, dark: bool = False, language: str = "en", height: int = 760) -> None:
    """A screen of this many pixels, as the browser of somebody with these wishes has it."""

    def command(name: str, **values: Any) -> None:
        browser.execute_cdp_cmd(f"Emulation.{name}", values)

    command("setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    command("setEmulatedMedia", features=[scheme])
    command("setUserAgentOverride", userAgent="test", acceptLanguage=language)
