"""The page without a server: what it asks a service for is answered in the browser."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.export.web.conftest import Node
from tests.serve.browser import Browser, Page, chromium, expect, lines, tinted
from yakusu import Translator
from yakusu.data.segments import MemorySegment
from yakusu.engine.config import EngineConfig
from yakusu.memory.importing import add_files
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.segments import normalised, renumbered
from yakusu.pipeline.documents import translate_document
from yakusu.search.trace import TraceStep
from yakusu.translator.request import Request
from yakusu.translator.writing.objects import objects
from yakusu.view import attention_maps

TEXT = "Der Hund schläft. Die Katze schläft nicht."
Open = Callable[..., Page]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # of playwright's transport
