"""A real browser without a window, for tests that open pages and click; absent where Chromium is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


def missing() -> str | None:
    """Why there is no browser; None where there is one."""
    if CHROMIUM is None or DRIVER is None:
        return "no chromium and chromedriver on the PATH (Debian: apt-get install chromium chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "the package selenium is not installed"
    return None


class Browser:
    """A page that is open, and what people do with it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, text: str, *, width: int = 1200, dark: bool = False) -> None:
        """Open a page of this text, on a screen of this width."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8", delete=False) as file:
            file.write(text)
        self.driver.get(f"file://{file.name}")
        Path(file.name).unlink()

    def run(self, script: str) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that are seen."""
        found = self.run(
            "return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length)"
            ".map(e => e.textContent)".replace("arguments[0]", repr(selector))
        )
        assert isinstance(found, list)
        return found

    def click(self, selector: str) -> None:
        """Click the first such element."""
        from selenium.webdriver.common.by import By

        element = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.run(f"document.querySelector({selector!r}).scrollIntoView()")
        element.click()

    def type(self, selector: str, text: str) -> None:
        """Replace what stands in an input."""
        from selenium.webdriver.common.by import By

        element = self.driver.find_element(By.CSS_SELECTOR, selector)
        element.clear()
        element.send_keys(text or " ")

    def complaints(self) -> list[str]:
        """What the browser says about errors, and what was refused."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def browsing(downloads: Path) -> Iterator[Browser]:
    """A browser with an empty profile, which is gone afterwards; files that a page offers go to a folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        assert CHROMIUM is not None
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*_FLAGS.split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            behaviour = {"behavior": "allow", "downloadPath": str(downloads)}
            driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
            yield Browser(driver)
        finally:
            driver.quit()
