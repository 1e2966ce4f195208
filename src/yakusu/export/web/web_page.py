"""The page of translators: what its forms, one file and a folder, have in common."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

from yakusu.export.web.model_file import WebModel
from yakusu.export.web.modules import one_script, shortened
from yakusu.export.web.script import ENGINES as ENGINES
from yakusu.export.web.script import script_of
from yakusu.native.compile import WEB_PROBE

LIBRARY = resources.files("yakusu.export.web")
_OWN, _SERVICE = LIBRARY / "page", resources.files("yakusu.view") / "page"
# What the page of the service has, and this one has not: its files.
_LINKS = re.compile(r'^ *<(?:meta charset|link rel="stylesheet"|script type="module").*\n', re.M)
_START = "Loading. If this text stays here, the file is incomplete or the browser is too old."


def own_text(name: str) -> str:
    """The text of one of the page's files."""
    return (_OWN / name).read_text(encoding="utf-8")


def engine_choice() -> str:
    """The module of JavaScript that says which engine a host runs."""
    probe = (LIBRARY / WEB_PROBE).read_bytes()
    return own_text("engines.js").replace("{{relaxed}}", ", ".join(map(str, probe)))


@dataclass(frozen=True)
class WebPage:
    """A page that translates without a server.

    Attributes:
        models: Its translators.
    """

    models: Sequence[WebModel]

    def rules(self, *, for_page: bool) -> str:
        """The script of the translators; see `script_of`."""
        return script_of([model.translator for model in self.models], for_page=for_page)

    @cached_property
    def worker(self) -> str:
        """The script of the worker."""
        return f"{self.rules(for_page=True)}\n{shortened(own_text('worker.js'))}\n"

    @property
    def script(self) -> str:
        """The script of the page."""
        files = {
            path.name: path.read_text(encoding="utf-8")
            for folder in (_SERVICE, _OWN)  # files of the second replace those of the first
            for path in folder.iterdir()
            if path.name.endswith(".js")
        }
        files["engines.js"] = engine_choice()
        models = json.dumps([model.about() for model in self.models])
        return f"window.yakusu.models = {models};\n{one_script(files, 'service.js')}\n"

    @property
    def style(self) -> str:
        """The style sheet."""
        return shortened((_SERVICE / "service.css").read_text(encoding="utf-8"))

    def html(self, head: str, begin: str, end: str) -> str:
        """The page as HTML.

        Args:
            head: What its head begins with.
            begin: What stands before the page, which is hidden until a script shows it.
            end: What its body ends with.
        """
        html = _LINKS.sub("", (_SERVICE / "service.html").read_text(encoding="utf-8"))
        start = f'<p id="start" role="alert">{_START}</p>\n{begin}\n<div id="page" hidden>'
        for tag, changed in (
            ("<head>", f"<head>\n{head}"),
            ("<body>", f"<body>\n{start}"),
            ("</body>", f"</div>\n{end}\n</body>"),
        ):
            html = html.replace(tag, changed, 1)
        return html


def policy(**sources: str) -> str:
    """A content policy that allows the given sources and nothing else."""
    allowed = {"default": "'none'", "img": "data:", "worker": "blob:"} | sources
    rules = "; ".join(f"{name}-src {value}" for name, value in allowed.items())
    content = f"{rules}; base-uri 'none'; form-action 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'


def integrity(data: bytes) -> str:
    """The hash of data as policies and the loading of files take it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(data).digest()).decode()}"
