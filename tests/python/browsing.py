import os
import shutil

import pytest
from conftest import ROOT
from playwright.sync_api import sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
SHOTS = ROOT / "target" / "console"
CONSOLE = '[console]\nlisten = "127.0.0.1:0"\n'
ALL_SIZES = [(390, "dark"), (720, "light"), (1024, "dark"), (1440, "light"), (1920, "dark")]
SIZES = [(360, "light"), (360, "dark"), (1440, "light"), (1440, "dark")]

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing: apt-get install chromium")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


def patient(browser, **options):
    context = browser.new_context(**options)
    context.set_default_timeout(180_000)
    return context


def enter(context, address):
    page = context.new_page()
    page.goto(address)
    page.get_by_role("button", name="Open the console").click()
    page.get_by_role("heading", level=1, name="Now", exact=True).wait_for()
    return page


def assert_accessible(page, name):
    from axe_playwright_python.sync_playwright import Axe

    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
    violations = Axe().run(page).response["violations"]
    assert [(found["id"], found["nodes"][0]["html"]) for found in violations] == [], name


def look(page, name, sizes=SIZES):
    SHOTS.mkdir(parents=True, exist_ok=True)
    for width, scheme in sizes:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=SHOTS / f"{name}-{width}-{scheme}.png", full_page=True)
        assert_accessible(page, f"{name} at {width}, {scheme}")
