"""The page in a real browser, as a person sees it: in light, in dark, on a telephone and on paper.

The pictures are left in `build/html/`, to be looked at.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from instrument.asked import Asked
from instrument.cli import main
from instrument.overview import show_each, show_total
from instrument.report import build_report
from instrument.rows import read_rows
from instrument.show import plain, show_amount
from support.browser import Browser, open_browser
from support.past import write_past

pytestmark = pytest.mark.docker
"""No engine, but a system package: it is where all of those are there that CI runs this."""
OUT = Path(__file__).parents[2] / "build" / "html"
OVERLAPPING = """
[...document.querySelectorAll('.tiles > div, .tasks tbody tr > *')]
  .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent)
"""
COLOURS_OF_PAGE = """
[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]
"""
UNSEEN = r"""
[...document.querySelectorAll('main svg rect')].filter(rect => {
  const style = getComputedStyle(rect), box = rect.getBoundingClientRect();
  const pattern = style.fill.match(/#([\w-]+)/);
  const isFilled = style.fill !== 'none' && style.fill !== 'rgb(0, 0, 0)';
  const isLost = pattern && !document.getElementById(pattern[1]);
  return !isFilled || isLost || (box.width === 0 && style.stroke === 'none');
}).map(rect => rect.outerHTML)
"""
"""Without a colour or a pattern of the style sheet, or without a width and without an edge."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("home")
    write_past(made)
    return made


@pytest.fixture(scope="module")
def browser(home: Path) -> Iterator[Browser]:
    OUT.mkdir(parents=True, exist_ok=True)
    page = OUT / "page.html"
    done = CliRunner().invoke(main, ["html", str(page)], env={"FACTORY_HOME": str(home)})
    assert done.exit_code == 0, done.output
    with open_browser() as opened:
        opened.open(page)
        yield opened


def test_it_shows_what_the_terminal_says(browser: Browser, home: Path) -> None:
    report = build_report(read_rows(home), Asked(), "week")
    browser.look(width=1400)
    # As it is laid out, without what is hidden.
    words = " ".join(browser.value("document.body.innerText").split())

    assert f"Cost per accepted task {show_each(report)}" in words
    assert f"Total {show_total(report).replace(', ', ' ', 1)}" in words
    assert f"{report.accepted} of {report.tasks}" in words
    for row in report.rows:
        assert plain(row.task_id) in words
        assert show_amount(row.cost_microusd, lower_bound=row.lower_bound) in words


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_it_fits_and_has_a_picture(browser: Browser, width: int, scheme: str) -> None:
    browser.look(width=width, scheme=scheme)

    browser.screenshot(OUT / f"{scheme}-{width}.png")
    assert browser.value("document.documentElement.scrollWidth") == width
    assert browser.value(OVERLAPPING) == []
    text, ground = (brightness(colour) for colour in browser.value(COLOURS_OF_PAGE))
    assert (text > ground) == (scheme == "dark")


def test_every_rectangle_of_a_picture_is_seen(browser: Browser) -> None:
    browser.look(width=1400)

    unseen = browser.value(UNSEEN)

    assert browser.value("document.querySelectorAll('rect').length") > 300
    assert unseen == []


def test_it_prints_in_light_without_what_only_a_screen_can_open(browser: Browser) -> None:
    browser.look(width=1400, scheme="dark")
    browser.print(OUT / "page.pdf")

    assert (OUT / "page.pdf").read_bytes().startswith(b"%PDF")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.ask("Emulation.setEmulatedMedia", media="print", features=features)
    text, ground = (brightness(colour) for colour in browser.value(COLOURS_OF_PAGE))
    assert ground - text > 500
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.value("getComputedStyle(document.querySelector('details:not([open])')).display") == "none"


def test_it_asks_for_nothing_and_complains_of_nothing(browser: Browser) -> None:
    assert browser.value("document.title").startswith("Cost per accepted task: ≥ $")
    assert browser.value("document.scripts.length") == 0
    assert browser.value("document.compatMode") == "CSS1Compat"
    assert browser.requests == [(OUT / "page.html").as_uri()]
    assert browser.complaints == []


def brightness(colour: Any) -> int:
    """Of `rgb(1, 2, 3)`."""
    return sum(int(part) for part in str(colour).removeprefix("rgb(").removesuffix(")").split(",")[:3])
