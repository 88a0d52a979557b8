"""A Chromium without a window, in which pages are opened at a width and in a colour scheme."""

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """Debian's Chromium and its driver; nothing is fetched."""
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("selenium is not installed: pip install '.[browser]'")
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if not all(programs.values()):
        pytest.skip("Chromium is not there: apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome_driver = webdriver.Chrome(options=options, service=Service(programs["chromedriver"]))
    yield chrome_driver
    chrome_driver.quit()


class Page:
    """A page that is open in the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def show(self, width: int, scheme: str) -> None:
        """Give the window a width [px] and the page a colour scheme, "light" or "dark"."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        colours = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def errors(self) -> list[str]:
        """What the console has had to say since it was last asked, warnings left out."""
        entries = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def overflow(self) -> float:
        """How far the page reaches beyond the window [px]."""
        return self.run("return document.documentElement.scrollWidth - window.innerWidth")

    def pictures_that_failed(self) -> list[str]:
        """Addresses of pictures that are not there, after all have been asked for."""
        return self.driver.execute_async_script(
            """
            const done = arguments[0];
            const images = [...document.images];
            images.forEach((image) => (image.loading = "eager"));
            Promise.allSettled(images.map((image) => image.decode())).then(() =>
              done(images.filter((image) => !image.naturalWidth).map((image) => image.src)));
            """
        )

    def faint_texts(self) -> list[str]:
        """Texts with a contrast below 4.5, with their colours, each kind once."""
        return self.run(CONTRAST)


@pytest.fixture
def opened(driver: Any) -> Callable[[Path, int, str], Page]:
    """Opens a file at a width [px] and in a colour scheme, "light" or "dark"."""

    def opened_at(path: Path, width: int, scheme: str) -> Page:
        page = Page(driver)
        page.show(width, scheme)
        driver.get_log("browser")
        driver.get(path.as_uri())
        page.run("document.documentElement.style.scrollBehavior = 'auto'")
        return page

    return opened_at
