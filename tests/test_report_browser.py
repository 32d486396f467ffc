"""The report in a real browser: nothing is asked of the network, names stay text, and the page can be worked with."""

import base64
import csv
import io
import itertools
import json
import os
import shutil
import time

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
ALL_PAGES = ["hostile", "three", "many", "classes", "large"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
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
    driver.downloads = tmp_path_factory.mktemp("downloads")
    driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(driver.downloads)}
    )
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def summaries():
    """Summaries with hostile names: twelve voters with truth, three without, 124, ten classes, 100,000 items."""
    X, y = gl.simulate_votes(1500, groups=[4, 3] + [1] * 5, random_state=1)
    names = [*HOSTILE, *(f"voter {i} with a name that is much too long to be shown anywhere" for i in range(9))]
    frame = pd.DataFrame(np.where(X == 1, HOSTILE[0], HOSTILE[1]), columns=names)
    frame.index = [f"{HOSTILE[0]} {i}" for i in range(len(frame))]
    groups = np.repeat(np.arange(7), [4, 3, 1, 1, 1, 1, 1])
    hostile = gl.LatentSML(structure=groups).fit(frame)
    earlier = frame.iloc[::-1].reset_index(drop=True)
    three = X[:, [0, 8, 10]]
    many, _ = gl.simulate_votes(2000, groups=[22, 16] + [2] * 20 + [1] * 46, random_state=2)
    sizes = [22, 16] + [2] * 20 + [1] * 46
    model = gl.LatentSML(structure=np.repeat(np.arange(len(sizes)), sizes), max_iter=5, tol=1).fit(many)
    rng = np.random.default_rng(3)
    truth = rng.integers(10, size=600)
    ten = np.where(rng.random((600, 8)) < 0.6, truth[:, None], rng.integers(10, size=(600, 8)))
    digits = pd.DataFrame(np.array([f"digit {i}" for i in range(10)])[ten], columns=[f"v{i}" for i in range(8)])
    tall, _ = gl.simulate_votes(100_000, groups=[4] + [1] * 16, missing_rate=0.1, random_state=4)
    quick = gl.LatentSML(structure="independent", subtypes=False, max_iter=5, tol=1)
    return {
        "hostile": gl.report(
            frame,
            model=hostile,
            against=earlier,
            truth=np.where(y == 1, HOSTILE[0], HOSTILE[1]),
            title=HOSTILE[2],
            warnings=HOSTILE,
            resamples=0,
        ).summary,
        "three": summarize(gl.LatentSML().fit(three), three),
        "many": summarize(model, many, resamples=0),
        "classes": summarize(gl.LatentSML().fit(digits), digits, truth=truth, resamples=0),
        "large": summarize(quick.fit(tall), tall, resamples=0),
    }


@pytest.fixture(scope="module")
def pages(summaries, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, found in summaries.items():
        (folder / f"{name}.html").write_text(render_html(found), encoding="utf-8")
    return folder


def show(browser, page, width=1280, dark=False, media="screen", link=""):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri() + link)


def requests(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
        and not event["params"]["request"]["url"].startswith(("data:", "blob:"))
    ]


def element(browser, selector):
    from selenium.webdriver.common.by import By

    return browser.find_element(By.CSS_SELECTOR, selector)


def into_view(browser, found):
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found)
    return found


def click(browser, selector):
    into_view(browser, element(browser, selector)).click()


def choose(browser, selector, value):
    from selenium.webdriver.support.ui import Select

    Select(into_view(browser, element(browser, selector))).select_by_value(value)


def text(browser, selector):
    return element(browser, selector).get_attribute("textContent")


def shown_items(browser):
    """Return the names in the rows that are in the document."""
    return browser.execute_script(
        "return Array.from(document.querySelectorAll('#item-rows .c-item')).map(e => e.title)"
    )


def downloaded(browser, button):
    """Press a button and return what it saved."""
    before = set(browser.downloads.iterdir())
    click(browser, f"[data-save='{button}']")
    for _ in range(300):
        new = [path for path in set(browser.downloads.iterdir()) - before if path.suffix != ".crdownload"]
        if new and new[0].stat().st_size:
            return new[0]
        time.sleep(0.05)
    raise AssertionError(f"{button} saved nothing")


def png_size(content):
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


# -- safe ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_PAGES)
def test_loads_without_an_error_or_a_request(browser, pages, name):
    show(browser, pages / f"{name}.html")
    assert requests(browser) == [(pages / f"{name}.html").as_uri()]
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_hostile_names_stay_text(browser, pages):
    show(browser, pages / "hostile.html")
    assert browser.title.startswith(HOSTILE[2])
    click(browser, "#item-rows .row")
    click(browser, ".voters tbody a")
    element(browser, "#map-box svg").send_keys("\ue007")
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.querySelectorAll('img, iframe').length") == 0
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('.voters tbody th')).map(e => e.title)"
    )
    assert set(HOSTILE) <= set(shown)
    assert shown_items(browser)[0] == f"{HOSTILE[0]} 0"
    assert browser.title.startswith(HOSTILE[2])
    # even a script that did get in would not run
    browser.execute_script(
        "var s = document.createElement('div'); s.innerHTML = '<img src=x onerror=window.bad=1>';"
        "document.body.append(s)"
    )
    assert browser.execute_script("return window.bad") is None


# -- every screen -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_PAGES)
@pytest.mark.parametrize("dark", [False, True])
def test_no_sideways_scroll_on_a_phone(browser, pages, name, dark):
    show(browser, pages / f"{name}.html", width=360, dark=dark)
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
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
        ink, ground = (sum(colour[:3]) / 3 for colour in colours)
        assert abs(ink - ground) > 150
        seen.append(ground)
    assert seen[0] > 200 > 60 > seen[1]


def test_on_paper_nothing_is_cut_off(browser, pages):
    show(browser, pages / "many.html", width=800, media="print")
    cut = browser.execute_script(
        "return Array.from(document.querySelectorAll('.scroll'))"
        ".filter(e => e.scrollHeight > e.clientHeight + 2).length"
    )
    assert cut == 0


def test_names_are_not_broken_over_lines(browser, pages):
    for width in (1280, 360):
        show(browser, pages / "hostile.html", width=width)
        broken = browser.execute_script(
            "return Array.from(document.querySelectorAll('.voters tbody a.id, #item-rows .c-item'))"
            ".filter(e => e.getClientRects().length > 1 || e.getBoundingClientRect().height > 34).length"
        )
        assert broken == 0


def test_everything_has_a_name_for_a_screen_reader(browser, pages):
    show(browser, pages / "hostile.html")
    browser.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    nameless = browser.execute_script(
        "return Array.from(document.querySelectorAll('svg:not([aria-hidden]), canvas, [tabindex], button, a, section,"
        " nav, select, input')).filter(e => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')"
        " || e.textContent.trim() || (e.labels && e.labels.length))).map(e => e.outerHTML.slice(0, 60))"
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


# -- pairs --------------------------------------------------------------------------------------------------


def test_hover_tells_the_pair_and_names_stand_on_the_axes(browser, pages, summaries):
    from selenium.webdriver import ActionChains

    show(browser, pages / "hostile.html")
    image = into_view(browser, element(browser, "#map-box image"))
    ActionChains(browser).move_to_element_with_offset(image, 40, 4).perform()
    assert element(browser, "#tip").is_displayed()
    names = [voter["name"] for voter in summaries["hostile"]["voters"]]
    assert any(text(browser, "#tip").startswith(f"{a} \u00d7 {b}: ") for a in names for b in names)
    titles = browser.execute_script(
        "return Array.from(document.querySelectorAll('#map-box text title')).map(e => e.textContent)"
    )
    assert sorted(titles) == sorted(names * 2)


def test_the_map_switches_and_speaks_by_keyboard(browser, pages, summaries):
    from selenium.webdriver.common.keys import Keys

    summary = summaries["hostile"]
    first, _, third = (summary["voters"][i] for i in summary["order"][:3])
    show(browser, pages / "hostile.html")
    before = element(browser, "#map-box image").get_attribute("href")
    choose(browser, "#map-kind", "covariance")
    assert element(browser, "#map-box image").get_attribute("href") != before
    svg = element(browser, "#map-box svg")
    svg.send_keys(Keys.ARROW_RIGHT)
    value = summary["matrices"]["covariance"][first["index"]][third["index"]]
    assert text(browser, "#said").startswith(f"{first['name']} \u00d7 {third['name']}: {value:g}")
    svg.send_keys(Keys.ESCAPE)
    assert "on" not in element(browser, "#tip").get_attribute("class")


def test_a_pair_shows_the_items_on_which_it_errs_together(browser, pages, summaries):
    from selenium.webdriver.common.keys import Keys

    summary = summaries["hostile"]
    one, other = summary["order"][:2]
    show(browser, pages / "hostile.html")
    element(browser, "#map-box svg").send_keys(Keys.ENTER)
    votes, labels = unpacked(summary)
    expected = (votes[:, [one, other]] != labels[:, None]).all(axis=1) & (votes[:, [one, other]] >= 0).all(axis=1)
    assert f"err together on {expected.sum()} of 1,500 items" in text(browser, "#pair")
    click(browser, "#pair .more")
    assert text(browser, "#item-count").startswith(f"{expected.sum()} of 1,500 items")
    rows = np.flatnonzero(expected)
    assert shown_items(browser)[:3] == [f"{HOSTILE[0]} {row}" for row in rows[:3]]


def unpacked(summary):
    """Return votes and labels of all items, by the words of the schema."""
    table = summary["table"]
    raw = np.frombuffer(base64.b64decode(table["votes"]), dtype=np.uint8).reshape(table["n_patterns"], -1)
    in_byte, bits = 8 // table["bits"], table["bits"]
    codes = (raw[:, :, None] >> (bits * np.arange(in_byte))) & (2**bits - 1)
    codes = codes.reshape(len(raw), -1)[:, : summary["votes"]["n_voters"]].astype(int) - 1
    pattern = np.frombuffer(base64.b64decode(table["patterns"]), dtype="<u4")
    labels = np.frombuffer(base64.b64decode(table["labels"]), dtype=np.uint8).astype(int)
    return codes[pattern], labels[pattern]


# -- tables -------------------------------------------------------------------------------------------------


def test_the_table_of_voters_sorts_by_mouse_and_by_keyboard(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    show(browser, pages / "hostile.html")
    head = browser.find_elements(By.CSS_SELECTOR, ".voters thead th")[2]
    button = head.find_element(By.TAG_NAME, "button")

    def values():
        return browser.execute_script(
            "return Array.from(document.querySelectorAll('.voters tbody tr')).map(r => Number(r.cells[2].dataset.v))"
        )

    into_view(browser, button).click()
    assert values() == sorted(values(), reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    button.send_keys(Keys.ENTER)
    assert values() == sorted(values())
    assert "ascending" in text(browser, "#said")


def test_voters_are_searched_and_linked(browser, pages, summaries):
    show(browser, pages / "many.html")
    into_view(browser, element(browser, "#voter-search")).send_keys("voter 12")
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('.voters tbody tr')).filter(r => !r.hidden).length"
    )
    names = [voter["name"] for voter in summaries["many"]["voters"]]
    assert shown == sum("voter 12" in name for name in names)
    show(browser, pages / "classes.html", link="#voter=v3")
    assert text(browser, "#voter h3") == "v3"
    cells = browser.execute_script("return document.querySelectorAll('#voter .confusion td').length")
    assert cells == 100
    assert element(browser, ".voters tr.here").get_attribute("data-voter") == "3"


def test_items_are_searched_filtered_sorted_and_linked(browser, pages, summaries):
    summary = summaries["hostile"]
    votes, labels = unpacked(summary)
    show(browser, pages / "hostile.html")
    into_view(browser, element(browser, "#item-search")).send_keys("</script> 149")
    assert text(browser, "#item-count") == "11 of 1,500 items"  # 149 and 1490 to 1499
    click(browser, "#item-clear")
    choose(browser, "#item-filter", "differs")
    assert text(browser, "#item-count") == f"{summary['answer']['differs_from_majority']:,} of 1,500 items"
    choose(browser, "#item-filter", "look")
    table = summary["table"]
    chance = np.frombuffer(base64.b64decode(table["probability"]), dtype="<u2") / 65535
    pattern = np.frombuffer(base64.b64decode(table["patterns"]), dtype="<u4")
    assert text(browser, "#item-count") == f"{(chance[pattern] < table['look_below']).sum():,} of 1,500 items"
    choose(browser, "#item-filter", "all")
    choose(browser, "#item-voter", "2")
    against = np.flatnonzero((votes[:, 2] >= 0) & (votes[:, 2] != labels))
    assert text(browser, "#item-count") == f"{len(against)} of 1,500 items"
    assert shown_items(browser)[0] == f"{HOSTILE[0]} {against[0]}"
    click(browser, "#item-clear")
    click(browser, "[data-sort='probability']")
    least = np.argsort(chance[pattern], kind="stable")
    assert shown_items(browser)[:5] == [f"{HOSTILE[0]} {row}" for row in least[:5]]
    click(browser, "[data-sort='probability']")
    assert element(browser, ".c-p[aria-sort]").get_attribute("aria-sort") == "descending"
    show(browser, pages / "hostile.html", link="#item=%3Cscript%3Ealert(1)%3C%2Fscript%3E%20777")
    assert text(browser, "#item h3") == f"{HOSTILE[0]} 777"
    assert text(browser, "#item-rows .row.here .c-item") == f"{HOSTILE[0]} 777"


def test_items_by_keyboard(browser, pages):
    from selenium.webdriver.common.keys import Keys

    show(browser, pages / "three.html")
    rows = into_view(browser, element(browser, "#item-rows"))
    rows.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert text(browser, "#item-rows .row.here .c-item") == "2"
    rows.send_keys(Keys.END)
    assert text(browser, "#item-rows .row.here .c-item") == "1500"
    rows.send_keys(Keys.ENTER)
    assert text(browser, "#item h3") == "1500"


def test_of_100_000_items_only_those_in_sight_are_drawn(browser, pages, summaries):
    assert (pages / "large.html").stat().st_size < 4_000_000
    assert not summaries["large"]["table"]["sampled"]
    show(browser, pages / "large.html")
    count = "return document.querySelectorAll('#item-rows .row').length"
    settled = "requestAnimationFrame(() => requestAnimationFrame(arguments[arguments.length - 1]))"
    for place in (0, 50_000, 99_999, 7):
        browser.execute_script(f"document.getElementById('item-rows').scrollTop = 32 * {place}")
        browser.execute_async_script(settled)
        assert browser.execute_script(count) < 60
        first, last = int(shown_items(browser)[0]), int(shown_items(browser)[-1])
        assert first <= min(place, 99_980) + 1 <= last
    click(browser, "[data-sort='agree']")
    assert browser.execute_script(count) < 60
    assert browser.execute_script("return document.querySelectorAll('*').length") < 6000


def test_more_items_than_the_table_holds_are_sampled_and_said(browser, tmp_path):
    X, _ = gl.simulate_votes(900, groups=[1] * 5, random_state=1)
    summary = summarize(gl.LatentSML().fit(X), X, resamples=0, items=90)
    assert summary["table"]["sampled"]
    (tmp_path / "page.html").write_text(render_html(summary), encoding="utf-8")
    show(browser, tmp_path / "page.html")
    assert "90 of 900 items, evenly spread over the rows" in text(browser, "#items")
    assert text(browser, "#item-count") == "90 items"
    names = shown_items(browser)
    assert names[0] == "1"
    assert int(names[1]) > 9


# -- what can be taken away ---------------------------------------------------------------------------------


def test_tables_are_saved(browser, pages, summaries):
    summary = summaries["hostile"]
    votes, labels = unpacked(summary)
    classes = summary["votes"]["classes"]
    show(browser, pages / "hostile.html")
    content = downloaded(browser, "items-csv").read_bytes().decode()
    rows = list(csv.reader(io.StringIO(content, newline="")))
    assert rows[0] == ["item", "label", "probability", "majority", "truth", *(v["name"] for v in summary["voters"])]
    assert len(rows) == 1501
    assert [row[1] for row in rows[1:]] == [classes[label] for label in labels]
    assert rows[8][5:] == [classes[code] for code in votes[7]]
    content = downloaded(browser, "voters-csv").read_bytes().decode()
    names = [row[0] for row in csv.reader(io.StringIO(content, newline=""))]
    assert names[1:] == [summary["voters"][i]["name"] for i in summary["order"]]
    assert json.loads(downloaded(browser, "summary-json").read_text(encoding="utf-8")) == summary
    saved = json.loads(downloaded(browser, "items-json").read_text(encoding="utf-8"))
    assert saved[3]["item"] == f"{HOSTILE[0]} 3"


def test_pictures_are_saved(browser, pages, summaries):
    show(browser, pages / "hostile.html")
    for picture in ("map", "tree"):
        width, height = png_size(downloaded(browser, f"{picture}-png").read_bytes())
        assert min(width, height) > 300
        svg = downloaded(browser, f"{picture}-svg").read_text(encoding="utf-8")
        assert svg.startswith("<svg")
        assert "<script" not in svg
    browser.execute_script("document.getElementById('share').open = true")
    assert png_size(downloaded(browser, "card-png").read_bytes()) == (1200, 630)
    assert summaries["hostile"]["answer"]["in_short"] in downloaded(browser, "card-svg").read_text(encoding="utf-8")
    click(browser, "[data-save='card-copy']")
    for _ in range(100):
        if "Cop" in text(browser, "#said") or "copy" in text(browser, "#said"):
            break
        time.sleep(0.05)
    assert text(browser, "#said").startswith(("Copied", "This browser does not let"))
    assert requests(browser) == [(pages / "hostile.html").as_uri()]


def test_two_runs_stand_side_by_side(browser, pages, summaries):
    show(browser, pages / "hostile.html")
    assert summaries["hostile"]["against"]["verdict"] in text(browser, "#against")
    rows = browser.execute_script("return document.querySelectorAll('#against .drift tbody tr').length")
    assert rows == 12
