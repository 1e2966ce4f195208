"""The languages that the names of message files state."""

from pathlib import PurePath

import pytest

from yakusu.documents.file_names import other_language

LANGUAGES = ("en", "de")


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("res/values-fr/strings.xml", "fr"),
        ("res/values-mcc310-pt-rBR-night/strings.xml", "pt-BR"),
        ("res/values-b+sr+Latn/strings.xml", "sr-Latn"),
        ("res/values-de/strings.xml", "de"),
        ("zh-Hans.lproj/Main.strings", "zh-Hans"),
        ("French.lproj/Main.stringsdict", "fr"),
        ("config/locales/fr.yml", "fr"),
        ("config/locales/devise.pt-BR.yml", "pt-BR"),
        ("app_fr.arb", "fr"),
        ("messages_fr_CA.properties", "fr-CA"),
        ("Resources.fr.resx", "fr"),
        ("Strings/fr-FR/Resources.resw", "fr"),
        ("locales/fr/common.json", "fr"),
        ("_locales/pt_BR/messages.json", "pt-BR"),
        ("locale/fr/LC_MESSAGES/django.po", "fr"),
        ("plugin-fr_FR.po", "fr"),
        ("app_fr.ts", "fr"),
    ],
)
def test_names_state_other_languages(path: str, language: str) -> None:
    assert other_language(PurePath(path), LANGUAGES) == language
    assert other_language(PurePath(path), (language, "it")) == ""
    assert other_language(PurePath(path), ("", "")) == ""


@pytest.mark.parametrize(
    "path",
    [
        *("res/values/strings.xml", "res/values-night/a.xml", "res/values-v21/a.xml"),
        *(
            "res/values-car/a.xml",
            "res/values-en-rGB/a.xml",
            "en.lproj/a.strings",
            "Base.lproj/a.strings",
        ),
        *("locales/en.yml", "locales/en/no.json", "package.json", "sign_in.json", "it/data.json"),
        *("check_in.properties", "messages.properties", "log_dev.properties", "Form1.resx"),
        *("de.po", "app_de.ts", "messages.de.xlf", "guide.fr.md", "fr/index.html", "fr.csv"),
    ],
)
def test_names_state_no_other_language(path: str) -> None:
    assert other_language(PurePath(path), LANGUAGES) == ""
