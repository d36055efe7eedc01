"""The documentation site: it is built without a warning, is complete, and is read without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import browser
import pytest
from docs_pages import ROOT
from playwright.sync_api import Request

from btflow.config.catalog import any_document
from btflow.config.fields import fields_below
from btflow.config.files import names
from btflow.link.scenario import LINKS
from btflow.swarm.scenario import SWARMS

pytestmark = [pytest.mark.xdist_group("site"), pytest.mark.slow]  # it is built once, by one worker

ABORTED = "net::ERR_ABORTED"
"""What Chromium says of a request that is under way when the page is left: the icon's often is."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built as `make docs` builds it; a link or an anchor that leads nowhere ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class Loaded(HTMLParser):
    """What a page makes the browser fetch by itself, and its links."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.math = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("script", "img", "iframe", "audio", "video", "source") and "src" in given:
            self.fetched.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.fetched.append(given.get("href", ""))
        self.math += tag == "math"


def loaded(page: Path) -> Loaded:
    parser = Loaded()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]  # that one is for a server
    assert len(pages) > 30
    for page in pages:
        for address in loaded(page).fetched:
            assert not urlsplit(address).netloc, f"{page.name} fetches {address}"
            assert not address or (page.parent / unquote(urlsplit(address).path)).exists(), (page, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_equations_are_mathml(site: Path) -> None:
    assert loaded(site / "tcp.html").math > 30
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text
        assert not re.search(r"<mtext>[^<]*\\", text), f"TeX is left in {page.name}"


@pytest.mark.parametrize("module", ["", ".analysis", ".analytic", ".explore", ".paths", ".plots"])
def test_every_public_name_is_in_the_api(site: Path, module: str) -> None:
    text = (site / "api" / f"{(module or '.btflow')[1:]}.html").read_text(encoding="utf-8")
    found = import_module(f"btflow{module}")
    for name in found.__all__:
        if not name.startswith("__") and not isinstance(getattr(found, name), ModuleType):
            made = getattr(found, name)
            paths = (f"btflow{module}.{name}", f"{made.__module__}.{made.__qualname__}")  # a module may be called alike
            assert any(f'<h2 id="{path}"' in text for path in paths), name


def test_every_field_and_every_file_of_the_models_has_its_row(site: Path) -> None:
    pages = {name: (site / "parameters" / f"{name}.html").read_text(encoding="utf-8") for name in ("swarm", "link")}
    for kind in (SWARMS, LINKS):
        for field in fields_below(kind.model) - {"name", "title", "source"}:
            assert f"<code>{field}</code>" in pages[kind.folder.rstrip("s")], field
    for folder in ("clients", "congestion", "access", "transports", "sockets", "codecs", "internet"):
        text = (site / "parameters" / f"{folder}.html").read_text(encoding="utf-8")
        for name in names(folder):
            assert f'id="{name.replace(".", "")}"' in text
    text = (site / "parameters" / "models.html").read_text(encoding="utf-8")
    for model in (*names(), *names("links")):
        for parameter in any_document(model).parameters:
            assert f"<code>{parameter}</code>" in text


TALL, WIDE = (
    f"[...document.querySelectorAll('.equation > div')].filter(e => e.scroll{side} > e.client{side})"
    ".map(e => e.textContent)"
    for side in ("Height", "Width")
)
"""Scripts that return the equations that have scroll bars."""


@browser.needs_browser
def test_the_site_is_read_from_disk_without_a_network(site: Path) -> None:
    """The search finds, equations have a size, and nothing is wider than a phone."""
    with browser.chromium() as chromium:
        for name, size in (("laptop", browser.LAPTOP), ("phone", browser.PHONE)):
            with browser.page(chromium, size) as page:
                failed: list[str] = []

                def note(request: Request, failed: list[str] = failed) -> None:
                    if request.failure != ABORTED:
                        failed.append(request.url)

                page.on("requestfailed", note)
                for stem in ("index", "tcp", "tutorial", "parameters/access"):
                    page.goto((site / f"{stem}.html").as_uri())
                    browser.screenshot(page, f"docs-{stem.replace('/', '-')}-{name}")
                    width = page.evaluate("document.documentElement.scrollWidth")
                    assert width <= size[0], f"{stem} is {width} px wide"
                for stem in ("laws", "paths", "tcp"):
                    page.goto((site / f"{stem}.html").as_uri())
                    assert page.locator(".equation > div").count() > 4
                    assert page.evaluate(TALL) == []
                    assert name == "phone" or page.evaluate(WIDE) == []
                box = page.locator("math").first.bounding_box()
                assert box is not None
                assert box["height"] > 10
                assert not failed
                if name == "laptop":
                    page.locator(".md-search__input").fill("latecomer")
                    page.locator(".md-search-result__item").first.wait_for(timeout=browser.SLOWEST)
                    assert "LEDBAT" in page.locator(".md-search-result__list").inner_text()
