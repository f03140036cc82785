"""The site in a browser: search, light and dark, and screens from wide to narrow."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest
from chromium import size

WALKTHROUGH = "chapters/05-http-service/walkthrough"
# Answers once the search has ended.
FOUND = """
const look = (done) => {
  if (!document.querySelector(".search-summary")?.innerText) return setTimeout(look, 20, done);
  done(Array.from(document.querySelectorAll("#search-results li a"), (link) => link.getAttribute("href")));
};
look(arguments[0]);
"""


# Answers once the first excerpt of a page is there.
EXCERPT = """
const look = (done) => {
  const found = document.querySelector("#search-results p.context")?.innerText;
  if (!found) return setTimeout(look, 20, done);
  done(found);
};
look(arguments[0]);
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def served(site: Any) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site.folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("opened", ["as files", "from a server"])
@pytest.mark.parametrize(
    ("language", "query", "page"),
    [
        ("en", "aborted abort", "chapters/05-http-service/exercises/exercise-7/index"),
        ("en", "ack_map", WALKTHROUGH),
        ("zh", "取消请求", "chapters/02-request-journey/index"),
        ("zh", "KV缓存", WALKTHROUGH),
        ("zh", "页", "chapters/05-http-service/exercises/exercise-13/index"),
        ("zh", "ack_map", WALKTHROUGH),
    ],
)
def test_search_finds(
    browser: Any, site: Any, served: str, opened: str, language: str, query: str, page: str
) -> None:
    base = site.folder.as_uri() if opened == "as files" else served
    size(browser, 1280)
    browser.get(f"{base}/{language}/search.html?q={quote(query)}")
    assert f"{page}.html" in [link.partition("#")[0] for link in browser.execute_async_script(FOUND)]
    assert browser.get_log("browser") == []
    note = browser.find_element("css selector", "p.as-file")
    if opened == "as files":
        assert note.is_displayed()
    else:
        assert not note.is_displayed() and browser.execute_async_script(EXCERPT)


def test_search_finds_nothing_where_nothing_is(browser: Any, site: Any) -> None:
    browser.get(f"{site.folder.as_uri()}/zh/search.html?q={quote('量子纠缠')}")
    assert browser.execute_async_script(FOUND) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_page_is_wider_than_the_screen(browser: Any, site: Any, language: str, width: int) -> None:
    size(browser, width)
    for page in (
        "index",
        WALKTHROUGH,
        "traces",
        "gaps",
        "chapters/05-http-service/exercises/exercise-7/index",
    ):
        browser.get(f"{site.folder.as_uri()}/{language}/{page}.html")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_letters_of_a_figure_are_as_large_on_a_phone(browser: Any, site: Any, language: str) -> None:
    """It moves sideways, in a frame of its own."""
    size(browser, 390)
    browser.get(f"{site.folder.as_uri()}/{language}/{WALKTHROUGH}.html")
    figures = browser.execute_script(
        "return [...document.querySelectorAll('article img.only-light')].map("
        "(it) => [it.offsetWidth, it.parentElement.clientWidth, it.parentElement.scrollWidth])"
    )
    assert len(figures) == 2
    for width, room, moves in figures:
        assert width == moves == 600 and room < 390


class Frame:
    """The first trace within a page."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser = browser
        browser.get(address)
        self.element = browser.find_element("css selector", "figure.trace iframe")
        browser.execute_script("arguments[0].scrollIntoView()", self.element)

    def ask(self, script: str) -> Any:
        """What the page in the frame says."""
        self.browser.switch_to.frame(self.element)
        answer = self.browser.execute_script(script)
        self.browser.switch_to.default_content()
        return answer

    def wait(self, script: str, expected: object) -> None:
        waiting = pytest.importorskip("selenium.webdriver.support.wait")
        waiting.WebDriverWait(self.browser, 30).until(lambda _: self.ask(script) == expected)


LOOKS = "return [document.documentElement.dataset.theme, document.documentElement.lang]"


@pytest.mark.parametrize("dark", [False, True])
def test_a_trace_in_the_text_is_as_dark_as_the_page(browser: Any, site: Any, dark: bool) -> None:
    before, after = ("dark", "light") if dark else ("light", "dark")
    size(browser, 1280, dark=dark)
    frame = Frame(browser, f"{site.folder.as_uri()}/zh/{WALKTHROUGH}.html")
    frame.wait(LOOKS, [before, "zh-CN"])
    browser.execute_script("document.body.dataset.theme = arguments[0]", after)
    frame.wait(LOOKS, [after, "zh-CN"])


def test_a_trace_from_a_server_keeps_its_step_when_the_page_gets_dark(browser: Any, served: str) -> None:
    size(browser, 1280)
    frame = Frame(browser, f"{served}/en/{WALKTHROUGH}.html")
    frame.wait(LOOKS, ["light", "en"])
    frame.ask("document.querySelector('[data-go=forward]').click()")
    step = "return new URLSearchParams(location.hash.slice(1)).get('step')"
    frame.wait(step, "2")
    browser.execute_script("document.body.dataset.theme = 'dark'")
    frame.wait(LOOKS, ["dark", "en"])
    assert frame.ask(step) == "2"
