"""Pages as Chromium shows them, without a network."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

_PROBE = """
<script>
const found = { errors: [], requests: [] };
addEventListener("error", event => found.errors.push(String(event.message)));
addEventListener("unhandledrejection", event => found.errors.push(String(event.reason)));
addEventListener("load", async () => {
  const drawn = () => document.documentElement.dataset.plots || found.errors.length;
  while (!drawn()) await new Promise(done => setTimeout(done, 20));
  found.value = found.errors.length ? null : await (async () => { %s })();
  const asked = performance.getEntriesByType("resource").map(entry => entry.name);
  found.requests = asked.filter(name => !/^(blob|data):/.test(name));
  const shown = document.createElement("pre");
  shown.id = "probe";
  shown.textContent = JSON.stringify(found);
  document.body.append(shown);
});
</script>
"""


_NARROWEST = 500
"""Pixels of a window of Chromium, at least. A narrower page is shown in a frame."""
_FRAME = """<!DOCTYPE html><body style="margin: 0">
<iframe style="border: 0; width: %dpx; height: 1400px" src="%s"></iframe>
<script>
setInterval(() => {
  const found = document.querySelector("iframe").contentDocument.getElementById("probe");
  if (found && !document.getElementById("probe")) document.body.append(document.importNode(found, true));
}, 50);
</script>
"""


class Seen(msgspec.Struct):
    """Findings of a script in a page."""

    errors: list[str]
    requests: list[str]
    """Addresses that the page asked for."""
    value: Any


def look(page: Path, script: str, width: int = 1280, options: Sequence[str] = ()) -> Seen:
    """Opens a page at a width, and runs a script when its plots are drawn. The script's `return` is the value."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    probed = page.with_name("probed.html")
    probed.write_text(page.read_text("utf-8").replace("<head>", "<head>" + _PROBE % script, 1), "utf-8")
    shown_at = probed
    if width < _NARROWEST:
        shown_at = page.with_name("framed.html")
        shown_at.write_text(_FRAME % (width, probed.name), "utf-8")
    command = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},1400", "--timeout=60000",
        "--virtual-time-budget=30000", "--host-resolver-rules=MAP * ~NOTFOUND", *options, "--dump-dom",
        "--allow-file-access-from-files", shown_at.as_uri(),
    ]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    match = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.DOTALL)
    assert match, "the page never drew its plots"
    return msgspec.json.decode(html.unescape(match[1]), type=Seen)
