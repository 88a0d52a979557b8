"""The site and the page of a run in a browser: after `make docs`, and the page after `make quick`.

`make test ARGS="-n 0 -m browser"` runs these; they are skipped where Chromium is not there.
"""

import itertools
from pathlib import Path

import pytest

from tests.repository.test_interactive import QUESTION, check_answer

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs"
SPHINX = {"genindex", "py-modindex", "search"}  # pages of its own
PAGES = [page for page in sorted(SITE.glob("**/*.html")) if page.stem not in SPHINX]
PAGES = [page for page in PAGES if SITE / "figures" not in page.parents]  # copies of RUNS
RUNS = sorted(page for run in ("full", "quick") for page in (ROOT / "figures" / run).glob("*.html"))
NONE = pytest.param(None, marks=pytest.mark.skip("there is no page of a run: make quick writes it"))
UNBUILT = pytest.param(None, marks=pytest.mark.skip("build/docs is not there: make docs writes it"))
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
FIRST = ("Quick start", "What was found", "Documentation", "Examples", "Licence")
VIEWS = list(itertools.product(WIDTHS, SCHEMES))


def named(path: Path | None) -> str:
    """What a page is called in the list of tests."""
    return "none" if path is None else str(path.relative_to(ROOT))


def built(name: str) -> Path:
    """A page of the site; the test is skipped where there is none."""
    page = SITE / name
    if not page.is_file():
        pytest.skip(f"build/docs/{name} is not there: make docs writes it")
    return page


@pytest.mark.parametrize("path", PAGES or [UNBUILT], ids=named)
def test_a_page_of_the_site_can_be_read(opened, path):
    check(opened, path)


@pytest.mark.parametrize("path", RUNS or [NONE], ids=named)
def test_a_page_of_a_run_can_be_read(opened, path):
    check(opened, path)


def check(opened, path):
    """No error, no sideways scrolling, all pictures, and text that stands out, in every view."""
    page = opened(path, *VIEWS[0])
    assert page.pictures_that_failed() == []
    for view in VIEWS:
        page.show(*view)
        assert page.overflow() <= 0, view
        assert page.faint_texts() == [], view
    assert page.errors() == []


def test_on_a_phone_names_stay_while_a_table_scrolls_and_panels_can_be_read(opened):
    page = opened(built("docs/paths.html"), 390, "light")
    left, moved = page.run(
        """
        const box = [...document.querySelectorAll('.table-wrapper')]
          .find((each) => each.scrollWidth > each.clientWidth + 50);
        const place = (each) => each.getBoundingClientRect().left;
        const [name, next] = box.querySelector('tbody tr').cells;
        const from = place(next);
        box.scrollLeft = 40;
        return [place(name) - place(box), from - place(next)];
        """
    )
    assert abs(left) <= 2
    assert moved == 40
    image = "const image = document.querySelector('.content p > img'); return "
    assert page.run(f"{image}image.clientWidth") > 600
    assert page.run(f"{image}image.parentElement.clientWidth") < 390


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_curve_moves_when_a_slider_does(opened, width, scheme):
    from selenium.webdriver.common.keys import Keys

    page = opened(built("docs/interactive.html"), width, scheme)
    curve = "return document.querySelector('polyline.mean.anchored').getAttribute('points')"
    before = page.run(curve)
    assert len(before.split()) == 51
    slider = page.driver.find_element("css selector", "#interactive input[name=v_f]")
    said = page.driver.find_element("css selector", "#interactive .where")
    assert "Inside" in said.text
    slider.send_keys(Keys.END)
    assert page.run(curve) != before
    assert "Outside" in said.text
    assert page.errors() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_posterior_moves_with_its_data(opened, width):
    """By the arrow keys and by the pointer."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    page = opened(built("docs/interactive.html"), width, "light")
    find = page.driver.find_element
    find("id", "tab-rve").send_keys(Keys.ARROW_RIGHT)
    curve = "return document.querySelector('svg.line polyline.mean').getAttribute('points')"
    seen = [page.run(curve)]
    point = find("css selector", "svg.line circle:last-of-type")
    point.send_keys(Keys.ARROW_UP)
    seen.append(page.run(curve))
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", point)
    ActionChains(page.driver).drag_and_drop_by_offset(point, -20, -60).perform()
    seen.append(page.run(curve))
    assert len(set(seen)) == 3
    find("css selector", "button.again").click()
    assert page.run(curve) == seen[0]
    assert page.errors() == []
    assert page.overflow() <= 0


def test_the_page_computes_what_python_does(opened):
    page = opened(built("docs/interactive.html"), 1280, "light")
    read = "const model = JSON.parse(document.getElementById('surrogate').textContent);"
    check_answer(page.run(f"{read}{QUESTION}; return answer;"))


def test_a_search_for_an_argument_leads_to_the_page_of_its_class(opened):
    from selenium.webdriver.support.wait import WebDriverWait

    page = opened(built("search.html"), 1280, "light")
    page.driver.get(f"{built('search.html').as_uri()}?q=GPRegressor+noise_std")
    links = "return [...document.querySelectorAll('#search-results li a')].map((link) => link.href)"
    WebDriverWait(page.driver, 10).until(lambda _: len(page.run(links)) > 3)
    first = page.run(links)[0]
    assert Path(first.partition("#")[0]).name == "bnn.GPRegressor.html"
    page.driver.get(first)
    assert "noise_std" in page.run("return document.querySelector('article').innerText")


def test_the_first_page_has_its_quick_start_above_the_examples(opened):
    page = opened(built("index.html"), 390, "light")
    headings = page.run("return [...document.querySelectorAll('h2')].map((h) => h.innerText)")
    order = [next(i for i, text in enumerate(headings) if text.startswith(name)) for name in FIRST]
    assert order == sorted(order)


def test_a_search_finds_and_nothing_is_loaded_from_elsewhere(opened):
    from selenium.webdriver.support.wait import WebDriverWait

    page = opened(built("search.html"), 1280, "light")
    page.driver.get(f"{built('search.html').as_uri()}?q=GPRegressor")
    hits = "return document.querySelectorAll('#search-results li, ul.search li').length"
    blocked = page.driver.execute_async_script(
        """
        const done = arguments[0];
        document.addEventListener("securitypolicyviolation", (event) => done(event.blockedURI));
        setTimeout(() => done(null), 5000);
        new Image().src = "https://example.org/picture.png";
        """
    )
    assert blocked == "https://example.org/picture.png"
    WebDriverWait(page.driver, 10).until(lambda _: page.run(hits) > 10)
