"""String catalogues of Xcode: the target language is added, and everything else keeps its bytes."""

import json
from typing import Any

import pytest

from yakusu.documents.document import DocumentOptions, Known
from yakusu.documents.messages.apps.xcstrings import XcstringsDocument, read
from yakusu.errors import DataError


def unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


def forms(state: str = "translated", **values: str) -> dict[str, Any]:
    return {"variations": {"plural": {name: unit(each, state) for name, each in values.items()}}}


def localized(**languages: dict[str, Any]) -> dict[str, Any]:
    return {"localizations": languages}


def as_xcode(strings: dict[str, Any]) -> str:
    """A catalogue as Xcode writes it."""
    root = {"sourceLanguage": "en", "strings": strings, "version": "1.0"}
    made = json.dumps(root, ensure_ascii=False, indent=2, separators=(",", " : "))
    return made.replace(" : {}", " : {\n\n    }")


def opened(data: str | dict[str, Any], target: str = "de", **options: bool) -> XcstringsDocument:
    data = data if isinstance(data, str) else as_xcode(data)
    return read(data.encode(), DocumentOptions(("en", target), **options))


STRINGS: dict[str, Any] = {
    "": {},
    "%@ is here": {},
    "greeting": {"comment": "Top", **localized(en=unit("Good day"), fr=unit("Bonjour"))},
    "kept": {"shouldTranslate": False},
    "title": {"extractionState": "manual", **localized(fr=unit("T")), "shouldTranslate": True},
}


def test_an_entry_of_the_target_language_is_added_and_marked() -> None:
    document = opened(STRINGS)
    assert document.texts == ["%@ is here", "Good day", "title"]
    assert document.keys == ["%@ is here", "greeting", "title"]
    made = document.render(["%@ ist hier", 'Guten "Tag"', "Thema"]).decode()
    german = unit("%@ ist hier", "needs_review")
    expected = {
        **STRINGS,
        "%@ is here": localized(de=german),
        "greeting": {
            "comment": "Top",
            **localized(
                de=unit('Guten "Tag"', "needs_review"), en=unit("Good day"), fr=unit("Bonjour")
            ),
        },
        "title": {
            "extractionState": "manual",
            **localized(de=unit("Thema", "needs_review"), fr=unit("T")),
            "shouldTranslate": True,
        },
    }
    assert made == as_xcode(expected)


def test_a_file_that_is_complete_keeps_its_bytes() -> None:
    done = as_xcode(
        {"a": localized(de=unit("Eins")), "b": localized(de=unit("Zwei", "needs_review"))}
    )
    document = opened(done)
    assert not document.texts
    assert document.render([]) == done.encode()
    again = opened(done, retranslate=True)
    assert again.texts == ["a", "b"]
    assert again.render(["A", "B"]).decode() == as_xcode(
        {"a": localized(de=unit("A", "needs_review")), "b": localized(de=unit("B", "needs_review"))}
    )


def test_a_new_or_empty_translation_is_replaced() -> None:
    for old in (unit("Go", "new"), unit("")):
        made = opened({"Go": localized(de=old)}).render(["Los"]).decode()
        assert made == as_xcode({"Go": localized(de=unit("Los", "needs_review"))})


def test_a_plural_has_the_categories_of_the_target_language() -> None:
    source = forms(one="%lld day", other="%lld days")
    document = opened({"n": localized(en=source)}, "ru")
    assert document.texts == ["%lld days", "%lld days", "%lld day", "%lld days"]
    made = json.loads(document.render(["few", "many", "one", "other"]))
    plural = made["strings"]["n"]["localizations"]["ru"]["variations"]["plural"]
    assert [*plural] == ["few", "many", "one", "other"]
    assert {name: form["stringUnit"]["value"] for name, form in plural.items()} == {
        each: each for each in plural
    }
    assert {form["stringUnit"]["state"] for form in plural.values()} == {"needs_review"}
    assert opened({"n": localized(en=source)}, "ja").texts == ["%lld days"]
    zero = forms(zero="No days", one="%lld day", other="%lld days")
    assert opened({"n": localized(en=zero)}, "ja").texts == ["%lld days", "No days"]


def test_translated_forms_are_kept() -> None:
    source = forms(one="%lld day", other="%lld days")
    target = forms(one="%lld Tag")
    for old in ({}, {"other": unit("", "new")}):
        target["variations"]["plural"].update(old)
        document = opened({"n": localized(en=source, de=target)})
        assert document.texts == ["%lld days"]
        made = json.loads(document.render(["%lld Tage"]))["strings"]["n"]["localizations"]["de"]
        assert made["variations"]["plural"] == {
            "one": unit("%lld Tag"),
            "other": unit("%lld Tage", "needs_review"),
        }


def test_a_translation_with_other_variations_is_kept() -> None:
    assert not opened({"%lld days": localized(de=forms(one="%lld Tag", other="%lld Tage"))}).texts


def test_substitutions_and_devices_are_copied_with_their_texts() -> None:
    days = {"argNum": 1, "formatSpecifier": "lld", **forms(one="%arg day", other="%arg days")}
    source = {**unit("%#@days@ left"), "substitutions": {"days": days}}
    devices = {"variations": {"device": {"mac": unit("Click it"), "other": forms(other="Tap it")}}}
    document = opened({"a": localized(en=source), "b": localized(en=devices)})
    assert document.texts == [
        "%#@days@ left",
        "%arg day",
        "%arg days",
        "Click it",
        "Tap it",
        "Tap it",
    ]
    made = json.loads(document.render(["noch %#@days@", "%arg Tag", "%arg Tage", "A", "B", "C"]))
    german = made["strings"]["a"]["localizations"]["de"]
    assert german["substitutions"]["days"]["argNum"] == 1
    assert german["substitutions"]["days"]["formatSpecifier"] == "lld"
    assert german["stringUnit"] == unit("noch %#@days@", "needs_review")["stringUnit"]


def test_a_translation_of_a_memory_is_not_marked() -> None:
    document = opened({"Go on": {}})
    document.tell({0: Known(match=100)})
    assert b'"translated"' in document.render(["Weiter"])
    document.tell({0: Known(match=90)})
    assert b'"needs_review"' in document.render(["Weiter"])
    for forms_of_source, state in ((("one", "other"), "translated"), (("other",), "needs_review")):
        source = forms(**dict.fromkeys(forms_of_source, "%lld days"))
        document = opened({"n": localized(en=source)})
        document.tell({0: Known(match=100), 1: Known(match=100)})
        made = json.loads(document.render(["%lld Tage"] * 2))["strings"]["n"]["localizations"]
        assert made["de"] == forms(state, one="%lld Tage", other="%lld Tage")


def test_the_source_language_of_a_file_that_lacks_it_is_that_of_the_model() -> None:
    data = json.dumps({"strings": {"a": localized(en=unit("Go on"))}})
    assert opened(data).texts == ["Go on"]


def test_the_code_of_the_file_is_used() -> None:
    strings = {"Go on": {}, "Stop it": localized(**{"pt-BR": unit("Pare")})}
    made = json.loads(opened(strings, "pt").render(["Continue"]))
    assert [*made["strings"]["Go on"]["localizations"]] == ["pt-BR"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_style_of_the_file_is_kept(end: str) -> None:
    data = as_xcode({"Go on": {}, "a/b c": localized(en=unit("x"))}).replace("\n", end)
    data = data.replace("  ", "\t").replace("a/b", r"a\/b")
    made = opened(data).render(["Weiter/los", "y"]).decode()
    assert f'"value" : "Weiter\\/los"{end}\t\t\t\t\t}}{end}\t\t\t\t}}{end}\t\t\t}}{end}' in made
    assert json.loads(made)["strings"]["Go on"]["localizations"]["de"]
    compact = '{"strings":{"Go on":{"comment":"c"}},"sourceLanguage":"en"}'
    assert opened(compact).render(["Weiter"]).decode() == compact.replace(
        '"c"}',
        '"c","localizations":{"de":{"stringUnit":{"state":"needs_review","value":"Weiter"}}}}',
    )


def test_what_stays_is_reported() -> None:
    strings = {
        "menu.open.file": {},
        "CFBundleName": {},
        "Old one": {"extractionState": "stale"},
        "Go on": {},
    }
    document = opened(strings)
    assert document.skipped == [
        'line 4: "menu.open.file" has no text in the source language',
        'line 7: "CFBundleName" has no text in the source language',
        'line 10: "Old one" is stale: the program does not use it',
    ]
    assert document.render([" "]) == as_xcode(strings).encode()
    assert "blank" in document.skipped[3]
    phrases = {"stringSet": {"state": "translated", "values": ["Go on"]}}
    several = opened({"a": localized(en=phrases), "%lld": {}})
    assert several.skipped == ['line 4: "a" has no string unit, but something else']
    value = opened({"a": localized(en=unit("snake_case"))})
    assert value.skipped == ['line 4: "a" looks like an identifier, not like text']
    moved = opened({"%s of %d": localized(en=unit("%s of %d"))})
    assert (
        moved.render(["%d von %s"])
        == as_xcode({"%s of %d": localized(en=unit("%s of %d"))}).encode()
    )
    assert "in another order" in moved.skipped[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[]", 'the file has no "strings"'),
        ('{"strings": {"a": ["b"]}}', 'line 1: "a" is not an entry of a string catalogue'),
        ('{"strings": {"a": {"localizations": 1}}}', 'line 1: "a" is not an entry'),
        ('{"strings": {"a": {"localizations": {"en": "b"}}}}', 'line 1: "a" is not an entry'),
        ('{"strings": {"a": }}', "line 1, column 19 is not valid JSON"),
        ('{"strings": ' + '{"a": ' * 101 + "1" + "}" * 102, "more than 100 levels"),
        (
            '{"sourceLanguage": "fr", "strings": {"Un": {}}}',
            "the source language of the file is 'fr', but the model translates from 'en'",
        ),
    ],
)
def test_a_bad_file_is_refused(data: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(data)


def test_the_target_language_must_be_known() -> None:
    document = read(as_xcode({"Go on": {}}).encode(), DocumentOptions())
    with pytest.raises(DataError, match="the target language is unknown"):
        document.render(["Weiter"])
