"""A page that translates, as one HTML file.

The first script checks the lengths of all data after it before it runs the page. It stands before
the style sheet and the data, so that it also runs when the rest of the file is missing.
"""

import json
import zlib

from yakusu.export.web.modules import shortened
from yakusu.export.web.units import MARK, in_units
from yakusu.export.web.web_page import ENGINES, LIBRARY, WebPage, integrity, own_text, policy


def file_of(page: WebPage) -> bytes:
    """The file, in UTF-16."""
    script = page.script
    scripts = {"page.js": script.encode(), "worker.js": page.worker.encode()}
    engines = {name: (LIBRARY / name).read_bytes() for name in ENGINES}
    parts = {name: zlib.compress(data, level=9) for name, data in (scripts | engines).items()}
    parts |= {model.file: model.data for model in page.models}
    stored = {name: in_units(data) for name, data in parts.items()}
    sizes = {
        name: {
            "bytes": len(parts[name]),
            "units": len(stored[name]) // 2,
            "deflated": name in scripts or name in engines,
        }
        for name in parts
    }
    first = shortened(own_text("file.js")).replace("{{parts}}", json.dumps(sizes))
    hashes = (f"'{integrity(text.encode())}'" for text in (first, script))
    rules = policy(
        script=f"{' '.join(hashes)} 'wasm-unsafe-eval'",
        style=f"'{integrity(page.style.encode())}'",
    )
    begin = f"<script>{first}</script>\n<style>{page.style}</style>"
    before, after = page.html(rules, begin, "{{data}}").split("{{data}}")
    data = (
        _encoded(_opened(name)) + text + _encoded("</script>\n") for name, text in stored.items()
    )
    return MARK + _encoded(before) + b"".join(data) + _encoded(after)


def _opened(name: str) -> str:
    return f'<script type="application/octet-stream" id="{name}">'


def _encoded(text: str) -> bytes:
    return text.encode("utf-16-le")
