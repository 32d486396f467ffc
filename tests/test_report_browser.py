"""The report in a real browser: nothing is asked of the network, names stay text, hover and sort work, phones fit."""

import itertools
import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

import goldless as gl
from goldless.report import render_html, summarize

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
HOSTILE = ["<script>alert(1)</script>", "=cmd|' /C calc'!A1", "</script><script>document.title='hacked'</script>"]


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium of the system; in CI it must be there."""
    if not (CHROMIUM and DRIVER):
        if os.environ.get("CI"):
            pytest.fail("CI must test the report in a browser: install chromium and chromium-driver")
        pytest.skip("install chromium and chromium-driver to test the report in a browser")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages with hostile names: twelve voters with truth, three without, and 124."""
    folder = tmp_path_factory.mktemp("pages")
    X, y = gl.simulate_votes(1500, groups=[4, 3] + [1] * 5, random_state=1)
    names = [*HOSTILE, *(f"voter {i} with a name that is much too long to be shown anywhere" for i in range(9))]
    frame = pd.DataFrame(np.where(X == 1, HOSTILE[0], HOSTILE[1]), columns=names)
    frame.index = [f"{HOSTILE[0]} {i}" for i in range(len(frame))]
    groups = np.repeat(np.arange(7), [4, 3, 1, 1, 1, 1, 1])
    summary = summarize(
        gl.LatentSML(structure=groups).fit(frame), frame, truth=(y == 1) * 1, title=HOSTILE[2], warnings=HOSTILE
    )
    three = X[:, [0, 8, 10]]
    many, _ = gl.simulate_votes(2000, groups=[22, 16] + [2] * 20 + [1] * 46, random_state=2)
    sizes = [22, 16] + [2] * 20 + [1] * 46
    model = gl.LatentSML(structure=np.repeat(np.arange(len(sizes)), sizes), max_iter=5, tol=1).fit(many)
    written = {
        "hostile": summary,
        "three": summarize(gl.LatentSML().fit(three), three),
        "many": summarize(model, many),
    }
    for name, found in written.items():
        (folder / f"{name}.html").write_text(render_html(found), encoding="utf-8")
    return folder


def show(browser, page, width=1280, dark=False, media="screen"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme]})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())


def requests(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        and not event["params"]["request"]["url"].startswith("data:")
    ]


@pytest.mark.parametrize("name", ["hostile", "three", "many"])
def test_loads_without_an_error_or_a_request(browser, pages, name):
    show(browser, pages / f"{name}.html")
    assert requests(browser) == [(pages / f"{name}.html").as_uri()]
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_hostile_names_stay_text(browser, pages):
    show(browser, pages / "hostile.html")
    assert browser.title.startswith(HOSTILE[2])
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.querySelectorAll('img, iframe').length") == 0
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('.voters tbody th')).map(e => e.title)"
    )
    assert set(HOSTILE) <= set(shown)
    # even a script that did get in would not run
    browser.execute_script(
        "var s = document.createElement('div'); s.innerHTML = '<img src=x onerror=window.bad=1>';"
        "document.body.append(s)"
    )
    assert browser.execute_script("return window.bad") is None


@pytest.mark.parametrize("name", ["hostile", "three", "many"])
@pytest.mark.parametrize("dark", [False, True])
def test_no_sideways_scroll_on_a_phone(browser, pages, name, dark):
    show(browser, pages / f"{name}.html", width=360, dark=dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 360
    wide = browser.execute_script(
        "return Array.from(document.querySelectorAll('main *')).filter(e => e.getBoundingClientRect().right > 360.5"
        " && !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_light_and_dark_differ_and_can_be_read(browser, pages):
    seen = []
    for dark in (False, True):
        show(browser, pages / "three.html", dark=dark)
        colours = browser.execute_script(
            "var style = getComputedStyle(document.body);"
            "return [style.color, style.backgroundColor].map(colour => colour.match(/\\d+/g).map(Number))"
        )
        text, ground = (sum(colour[:3]) / 3 for colour in colours)
        assert abs(text - ground) > 150
        seen.append(ground)
    assert seen[0] > 200 > 60 > seen[1]


def test_hover_tells_the_pair(browser, pages):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    show(browser, pages / "hostile.html")
    image = browser.find_element(By.CSS_SELECTOR, "#heat-score image")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", image)
    ActionChains(browser).move_to_element_with_offset(image, 40, 4).perform()
    tip = browser.find_element(By.ID, "tip")
    assert tip.is_displayed()
    data = json.loads(browser.find_element(By.ID, "data").get_attribute("textContent"))
    text = tip.get_attribute("textContent")
    pairs = [f"{one} \u00d7 {other}: " for one in data["names"] for other in data["names"]]
    assert any(text.startswith(pair) for pair in pairs)


def test_heat_maps_by_keyboard_speak(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, pages / "hostile.html")
    svg = browser.find_element(By.CSS_SELECTOR, "#heat-covariance svg")
    svg.send_keys(Keys.ARROW_RIGHT)
    data = json.loads(browser.find_element(By.ID, "data").get_attribute("textContent"))
    expected = f"{data['names'][0]} \u00d7 {data['names'][2]}: {data['matrices']['covariance'][0][2]:g}"
    assert browser.find_element(By.ID, "said").get_attribute("textContent").startswith(expected)
    svg.send_keys(Keys.ESCAPE)
    assert "on" not in browser.find_element(By.ID, "tip").get_attribute("class")


def test_the_table_sorts_by_mouse_and_by_keyboard(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, pages / "hostile.html")
    head = browser.find_elements(By.CSS_SELECTOR, ".voters thead th")[2]
    button = head.find_element(By.TAG_NAME, "button")

    def values():
        return browser.execute_script(
            "return Array.from(document.querySelectorAll('.voters tbody tr')).map(r => Number(r.cells[2].dataset.v))"
        )

    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()
    assert values() == sorted(values(), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    button.send_keys(Keys.ENTER)
    assert values() == sorted(values())
    assert "ascending" in browser.find_element(By.ID, "said").get_attribute("textContent")


def test_on_paper_nothing_is_cut_off(browser, pages):
    show(browser, pages / "many.html", width=800, media="print")
    cut = browser.execute_script(
        "return Array.from(document.querySelectorAll('.scroll'))"
        ".filter(e => e.scrollHeight > e.clientHeight + 2).length"
    )
    assert cut == 0
    show(browser, pages / "three.html")


def test_everything_has_a_name_for_a_screen_reader(browser, pages):
    show(browser, pages / "hostile.html")
    nameless = browser.execute_script(
        "return Array.from(document.querySelectorAll('svg:not([aria-hidden]), [tabindex], button, a, section, nav'))"
        ".filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()))"
        ".map(e => e.outerHTML.slice(0, 60))"
    )
    assert nameless == []
    nameless = browser.execute_script(
        "return Array.from(document.querySelectorAll('table')).filter(t => !t.caption && !t.closest('[aria-label]'))"
        ".map(t => t.outerHTML.slice(0, 60))"
    )
    assert nameless == []
    assert browser.execute_script("return document.querySelectorAll('th:not([scope])').length") == 0
    levels = browser.execute_script(
        "return Array.from(document.querySelectorAll('h1,h2,h3,h4')).map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))  # none is left out
    assert browser.execute_script("return document.documentElement.lang") == "en"
    ids = browser.execute_script("return Array.from(document.querySelectorAll('[id]')).map(e => e.id)")
    assert len(ids) == len(set(ids))
