"""Pages in a real browser without a driver: a page of frames looks into them and writes down what a test asks."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

CHROMIUM = Path("/usr/bin/chromium")
needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM} to open the page in")

DESKTOP, PHONE = 1100, 390
#: An A4 sheet between the page's margins of 10 mm, in CSS pixels.
SHEET = 718

_FRAMES = """<!DOCTYPE html><meta charset="utf-8">{frames}
<script>
const ask = async (doc, win) => {{ {script} }};
addEventListener("load", async () => {{
  const told = [];
  for (const frame of document.querySelectorAll("iframe"))
    told.push(await ask(frame.contentDocument, frame.contentWindow));
  const out = document.createElement("pre");
  out.id = "told";
  out.textContent = JSON.stringify(told);
  document.body.append(out);
}});
</script>"""


class Seen(NamedTuple):
    """A page as it is looked at: its text, how wide, whether its scripts run, and whether as on paper."""

    text: str
    width: int = DESKTOP
    scripts: bool = True
    printed: bool = False
    fragment: str = ""


def browse(page, folder, *, dark=False, wait=4000):
    """Return the page as the browser has it in the end, and what the browser complained of."""
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
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
        "--window-size=1200,900",
        f"--virtual-time-budget={wait}",
        *scheme,
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def look(pages, script, folder, *, dark=False, wait=4000):
    """Return what a script tells of each page, and what the browser complained of.

    The script is the body of an asynchronous function of the page's `doc` and `win`; what it returns must fit JSON.
    """
    frames = []
    for number, one in enumerate(pages):
        text = one.text
        if one.printed:
            # The rules for paper, on a screen that can be measured.
            text = text.replace("@media print", "@media all").replace("@media (prefers-color-scheme:dark)", "@media no")
        (folder / f"page{number}.html").write_text(text, encoding="utf-8", newline="\n")
        kept = "" if one.scripts else ' sandbox="allow-same-origin"'
        frames.append(f'<iframe src="page{number}.html{one.fragment}" width="{one.width}" height="844"{kept}></iframe>')
    outer = folder / "frames.html"
    outer.write_text(_FRAMES.format(frames="".join(frames), script=script), encoding="utf-8")
    dom, console = browse(outer, folder, dark=dark, wait=wait)
    told = re.search(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    assert told, (dom[-500:], console)
    return json.loads(html.unescape(told.group(1))), console


def without_policy(text):
    """Return a page that would let everything run: only escaping protects it, or something of the test's is added."""
    out, number = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert number == 1
    return out
