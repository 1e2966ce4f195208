"""The folder of translators: an ES module, and a page that installs and works offline.

yakusu.js, yakusu.d.ts, package.json     the module: `load()`
engine.wasm                              the engine
kernels-relaxed.wasm, kernels-simd.wasm, kernels-scalar.wasm   its kernels for three kinds of hosts
NAME.bin                                 the data of a translator
index.html, page.js, page.css, worker.js the page
service-worker.js                        keeps the files of the page
manifest.webmanifest, icon.svg           what installing it needs
"""

import json
from collections.abc import Iterator
from pathlib import Path

from yakusu.export.web.modules import shortened
from yakusu.export.web.web_page import (
    ENGINES,
    LIBRARY,
    WebPage,
    engine_choice,
    integrity,
    own_text,
    policy,
)
from yakusu.version import __version__

_HEAD = """{policy}
<link rel="stylesheet" href="page.css">
<link rel="manifest" href="manifest.webmanifest">
<link rel="icon" href="icon.svg">"""
_SCRIPT = '<script src="page.js"></script>'
_ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 512 512">
<rect width="512" height="512" fill="#3f51b5"/>
<text x="256" y="366" font-size="288" text-anchor="middle" fill="#fff">訳</text>
</svg>
"""


def write_folder(folder: Path, page: WebPage) -> None:
    """Write the module and the page into a folder."""
    files = dict(_module(page)) | dict(_page(page))
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _module(page: WebPage) -> Iterator[tuple[str, bytes]]:
    """The files of the ES module."""
    names = json.dumps([model.name for model in page.models])
    module = (LIBRARY / "module.js").read_text(encoding="utf-8")
    own = shortened(f"{engine_choice()}\n{module}")
    yield "yakusu.js", f"{page.rules(for_page=False)}\nconst MODELS = {names};\n{own}\n".encode()
    for name in (*ENGINES, "yakusu.d.ts"):
        yield name, (LIBRARY / name).read_bytes()
    for model in page.models:
        yield model.file, model.data
    package = {
        "name": f"yakusu-{'-'.join(model.name for model in page.models)}".lower(),
        "version": __version__,
        "type": "module",
        "exports": {".": {"types": "./yakusu.d.ts", "default": "./yakusu.js"}},
        "files": ["yakusu.js", "yakusu.d.ts", "*.wasm", "*.bin"],
    }
    yield "package.json", f"{json.dumps(package, indent=2)}\n".encode()


def _page(page: WebPage) -> Iterator[tuple[str, bytes]]:
    """The files of the page, of which the service worker knows the hashes."""
    rules = policy(
        **{"script": "'self' 'wasm-unsafe-eval'", "style": "'self'", "connect": "'self'"},
        **{"img": "'self' data:", "worker": "'self' blob:", "manifest": "'self'"},
    )
    html = page.html(_HEAD.format(policy=f'<meta charset="utf-8">\n{rules}'), "", _SCRIPT)
    files = {
        "index.html": html,
        "page.js": f"{shortened(own_text('folder.js'))}\n{page.script}",
        "page.css": page.style,
        "worker.js": page.worker,
        "manifest.webmanifest": _manifest(page),
        "icon.svg": _ICON,
    }
    made = {name: text.encode() for name, text in files.items()}
    kept = made | {name: (LIBRARY / name).read_bytes() for name in ENGINES}
    kept |= {model.file: model.data for model in page.models}
    hashes = json.dumps([(name, integrity(data)) for name, data in kept.items()])
    worker = shortened(own_text("service-worker.js")).replace("{{files}}", hashes)
    yield from made.items()
    yield "service-worker.js", f"{worker}\n".encode()


def _manifest(page: WebPage) -> str:
    """The web app manifest."""
    names = ", ".join(model.name for model in page.models)
    made = {
        "name": f"yakusu {names}",
        "short_name": "yakusu",
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "background_color": "#fafaf8",
        "theme_color": "#3f51b5",
        "icons": [{"src": "icon.svg", "type": "image/svg+xml", "sizes": "any"}],
        "share_target": {
            "action": "./",
            "method": "GET",
            "params": {name: name for name in ("title", "text", "url")},
        },
    }
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"
