"""The page in a real browser: hostile names run nothing, and a phone need not scroll sideways."""

import re
import subprocess
from pathlib import Path

import pytest

from measurand.reporting import report

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="no /usr/bin/chromium to open the page in")

# The page stands in a frame of a phone's width, and its surroundings measure it: the page itself allows no script.
FRAME = """<!DOCTYPE html><meta charset="utf-8"><iframe id="f" src="{page}" style="width:390px;height:844px"></iframe>
<script>
addEventListener("load", () => {{
  const doc = document.getElementById("f").contentDocument;
  doc.querySelectorAll("details").forEach(d => d.open = true);
  const root = doc.documentElement;
  document.title = `scroll ${{root.scrollWidth}} client ${{root.clientWidth}} scripts ${{doc.scripts.length}} `
    + `h1 ${{doc.querySelectorAll("h1").length}} images ${{doc.images.length}}`;
}});
</script>"""


def browse(page, folder):
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
        f"--user-data-dir={folder / 'profile'}",
        "--window-size=500,900",
        "--virtual-time-budget=4000",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console


@pytest.mark.parametrize("name", ["hostile", "forty"])
def test_page_in_a_browser(name, request, tmp_path):
    page = tmp_path / "report.html"
    report(request.getfixturevalue(name), out=page, title="<script>alert(3)</script>", reproduce={"seed": "0"})
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(page=page.name), encoding="utf-8")
    dom, console = browse(frame, tmp_path)
    assert console == []
    found = re.search(r"scroll (\d+) client (\d+) scripts (\d+) h1 (\d+) images (\d+)", dom)
    assert found, dom[:500]
    scroll, client, scripts, headings, images = map(int, found.groups())
    assert (scripts, headings, images) == (0, 1, 0)
    assert scroll <= client
