"""Weblate's classes for LibreTranslate, DeepL and ModernMT against a running service.

Only the environment of the peer weblate has them (benchmarks/interop/peers.py). Three dependencies
of Weblate 5.14.3 do not build without C libraries: borgbackup ("Could not find lz4 lib/headers"),
pycairo and PyGObject ('Dependency "cairo" not found'). The classes use none of them, so Weblate is
installed without its dependencies, and mocks stand for the modules cairo and gi, which it only
imports. Weblate has no database here: units are objects with what the classes read.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.serve.conftest import Running, running
from tests.translators import save, untrained

pytest.importorskip("weblate", reason="only the environment of the peer weblate has Weblate")
sys.modules.update(dict.fromkeys(("cairo", "gi", "gi.repository"), MagicMock()))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import django
    from django.conf import settings
    from weblate import settings_example

    own = {name: value for name, value in vars(settings_example).items() if name.isupper()}
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    own |= {
        "SECRET_KEY": "of this test",
        "SITE_DOMAIN": "example.com",
        "CHECK_LIST": ["weblate.checks.format.PythonFormatCheck"],
        "CACHES": {"default": memory, "avatar": memory},
        "DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    }
    settings.configure(**own)
    django.setup()
    from django.core.cache import cache
    from weblate.checks.flags import Flags
    from weblate.lang.models import Plural
    from weblate.machinery.base import GlossaryDoesNotExistError, MachineTranslationError
    from weblate.machinery.deepl import DeepLTranslation
    from weblate.machinery.libretranslate import LibreTranslateTranslation
    from weblate.machinery.modernmt import ModernMTTranslation

pytestmark = pytest.mark.filterwarnings("ignore")
PATHS = {LibreTranslateTranslation: "", DeepLTranslation: "v2/", ModernMTTranslation: "modernmt/"}
WITH_GLOSSARIES = [DeepLTranslation, ModernMTTranslation]
TERMS = "the terms of a project"  # in the cache of Weblate
KEYS = '[[keys]]\nkey = "the key of Weblate"\n[[keys]]\nkey = "a small key"\nper_month = 5\n'


@pytest.fixture(scope="module")
def service(
    folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service with keys, and with English to German, which Weblate's test of settings needs."""
    folder = tmp_path_factory.mktemp("weblate")
    (folder / "keys.toml").write_text(KEYS)
    pair = {"source_language": "en", "target_language": "de"}
    models = [*folders.values(), save(folder / "en-de", untrained("bytes"), **pair)]
    with running(models, keys=str(folder / "keys.toml"), require_key=True) as found:
        yield found


@pytest.fixture(autouse=True)
def _forget() -> None:
    cache.clear()  # languages, glossaries, translations, and that a service has refused a key
    cache.set(TERMS, "")


def machine(service: Running, kind: Any, key: str = "the key of Weblate", **values: Any) -> Any:
    """One of Weblate's classes with the settings of its form."""
    return kind({"url": f"{service.url}/{PATHS[kind]}", "key": key, **values})


def unit(*texts: str, source: str = "de", target: str = "en") -> Any:
    """A unit with a singular, and perhaps a plural."""
    plural = Plural(number=2, formula="n != 1", type=1)
    languages = [SimpleNamespace(code=code, plural=plural) for code in (source, target)]
    project = SimpleNamespace(id=1, get_glossary_tsv_cache_key=lambda *_: TERMS)
    component = SimpleNamespace(source_language=languages[0], project=project)
    translation = SimpleNamespace(
        component=component, language=languages[1], plural=plural, log_debug=lambda *_: None
    )
    return SimpleNamespace(
        translation=translation,
        all_flags=Flags("python-format"),
        get_source_plurals=lambda: [*texts],
        machinery={},
    )


def translated(found: Any, *texts: str, **languages: str) -> list[str]:
    """The best translations of the plurals of a unit."""
    return [best["text"] for (best, *_) in found.translate(unit(*texts, **languages))]


@pytest.mark.parametrize("kind", PATHS)
def test_weblate_accepts_the_settings(service: Running, kind: Any) -> None:
    form = kind.settings_form(kind, data=machine(service, kind, formality="default").settings)
    assert form.is_valid(), form.errors
    wrong = kind.settings_form(kind, data=machine(service, kind, "a wrong key").settings)
    assert not wrong.is_valid()


@pytest.mark.parametrize("kind", PATHS)
def test_weblate_translates(service: Running, kind: Any) -> None:
    found = machine(service, kind)
    for text in ("Öffnen", "Der Zug kommt.\nEr geht.", "<b>Fett</b> & 'mehr'", " Rand "):
        (made,) = translated(found, text)
        assert made.count("\n") == text.count("\n")
    made = translated(found, "%d Datei", "%d Dateien in %(folder)s")
    assert "%d" in made[0] and "%d" in made[1] and "%(folder)s" in made[1]
    assert translated(found, "Öffnen", target="en_GB") == translated(found, "Öffnen")
    assert found.translate(unit("Öffnen", target="it")) == []  # not supported


@pytest.mark.parametrize("kind", PATHS)
def test_weblate_translates_many_units(service: Running, kind: Any) -> None:
    units = [unit(f"Datei {number}") for number in range(20)]
    machine(service, kind).batch_translate(units)
    assert all(each.machinery["translation"][0] for each in units)


@pytest.mark.parametrize("kind", PATHS)
def test_weblate_shows_why_a_text_is_refused(service: Running, kind: Any) -> None:
    found = machine(service, kind, "a small key")
    with pytest.raises(MachineTranslationError, match="per_month = 5"):
        found.translate(unit("Der Zug kommt."))
    assert found.is_rate_limited()


@pytest.mark.parametrize("kind", WITH_GLOSSARIES)
def test_weblate_sends_its_glossaries(service: Running, kind: Any) -> None:
    found = machine(service, kind)
    cache.set(TERMS, "Ventil\tvalve\nKlappe\tflap")
    assert "valve" in translated(found, "Das Ventil ist offen, %d.")[0]
    (first,) = found.list_glossaries()
    cache.set(TERMS, "Ventil\ttap")
    assert "tap" in translated(found, "Das Ventil ist offen, %d.")[0]
    ((second, number),) = found.list_glossaries().items()
    assert first != second  # the stale glossary was deleted
    found.delete_oldest_glossary()
    assert found.list_glossaries() == {}
    with pytest.raises(GlossaryDoesNotExistError):
        found.delete_glossary(number)
