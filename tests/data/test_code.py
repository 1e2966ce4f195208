"""Code-like tokens: what each rule finds, what is prose, and how rules are switched off."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import some
from yakusu.data.lines.code import CODE_HINT, CODE_RULES, code_pattern
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.spans import SpanFinder, breaks
from yakusu.errors import DataError

EXAMPLES = [(rule.name, example) for rule in CODE_RULES for example in rule.examples]


def found(text: str) -> list[str]:
    return [span.text for span in SpanFinder().find(text)]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_a_rule_finds_its_examples(name: str, example: str) -> None:
    assert CODE_HINT.search(example)
    text = f"Open {example} now, 今は{example}。" if name == "address" else f"Open {example} now"
    hits = [(match.lastgroup, match[0]) for match in code_pattern().finditer(text)]
    assert hits == [(name, example)] * text.count(example)


@given(
    st.sampled_from([example for _, example in EXAMPLES]),
    st.integers(0, 12),
    st.integers(0, 6),
    st.text("aBx09é猫 .,:;/\\-+_~*#$%&@<>{}()[]'\"", max_size=3),
)
def test_the_hint_never_hides_a_token_like_an_example(
    example: str, place: int, n_deleted: int, inserted: str
) -> None:
    text = example[:place] + inserted + example[place + n_deleted :]
    assert CODE_HINT.search(text) or not code_pattern().search(text)


# Tokens are written between ‹ and ›; each group is a syntax of a framework.
WITH_TOKENS = [
    # printf that is glued to letters and to other directives
    "Took ‹%0dh› ‹%02dm›, grid of ‹%dx%d› cells, ‹%dx%dpx›, wait ‹%dms›, ‹%.2fGB› free",
    "‹%3$,d› of ‹%1$,.2f›, on ‹%2$tB› ‹%2$tm›, ‹%1$lu› bytes, ‹%2$'d›, ‹%-10s›|‹%I64d›",
    "‹%*d› ‹%-*s› ‹%.*f› ‹%*.*f› ‹%[2]d› ‹%[1]*d› ‹%+v› ‹%T› ‹%q› ‹%x›",
    "‹%s_%s› and ‹%d›секунд, ‹%s›さん, ‹%s›님",
    # iOS, Qt, Boost, Ruby, C
    "‹%1$#@files@› on ‹%@›; ‹%1› of ‹%2›, ‹%L1›, ‹%n› item(s), ‹%1%›; ‹%<total>.2f›; ‹%<PRIu64>›",
    # Symfony, Drupal, WordPress, Laravel
    "In ‹%minutes% minutes› ".replace(" minutes›", "› minutes") + "by ‹%user-name›, ‹@count›",
    "‹%1$s› by ‹%author%›",
    # Home Assistant, Fluent, React, Svelte, Java, .NET, Rust
    "‹[%key:state::on%]› and ‹{ $user }› and ‹{last-name}› and ‹{ -brand }› and ‹{n + 1}›",
    '‹{ NUMBER($n, digits: 2) }› ‹{a?.b}› ‹{0,choice,0#no|1#one|1<{0} of them}› ‹{0,10:C}› ‹{:?}›',
    # Handlebars, Angular, Ember, Hugo, Polymer, Twig
    '‹{{#if ok}}› yes ‹{{/if}}› ‹{{ f({a: 1}) }}› ‹{{< fig "b.png" >}}› ‹[[total]]› ‹{# note #}›',
    # ERB
    "Dear ‹<%= name %>›, ‹<%- @item.title -%>›",
    # i18next, shells, browser extensions, PHP, build systems
    '‹$t(menu.open)› ‹$t(file, {"count": 2})› ‹$(OUT_DIR)› ‹$COUNT$› ‹$this->name› ‹$a[0]› ‹$x›.',
    # names between signs
    "‹__total__› ‹##USER##› ‹#user#› ‹@VERSION@›",
    # Godot, forums, shortcodes
    'See ‹[method Node.add]› or ‹[color=#f00]›red‹[/color]›, ‹[gallery ids="1,2" size=big]›',
    "‹[code]a = [1][/code]› ‹[img]res://x.png[/img]›".replace(
        "‹[img]res://x.png[/img]›", "‹[img]›‹res://x.png›‹[/img]›"
    ),
    "‹[url]›‹https://example.org/a›‹[/url]›",
    # addresses with placeholders and of other schemes
    "‹https://example.org/{id}/edit›, ‹https://example.org/u/{id}›. ‹app://open/x›, ‹shop.co.uk/a›",
    # files, versions, identifiers, part numbers, handles
    "‹archive.tar.gz›, ‹notes.TXT›; ‹lib/util.c›, ‹../a/b›, ‹/etc/hosts›, ‹.gitignore›, ‹D:\\x\\y›",
    "‹v2.0›, ‹3.1.0-beta.2›, ‹1.0b2›, ‹10.0.0.1:80›, ‹2024-05-01T09:30Z›",
    "‹max_len›, ‹_private_x›, ‹rowCount›, ‹userID›, ‹IllegalStateException›, ‹a::b()›, ‹obj.run()›",
    "‹LM317-T3X9›, ‹i7-9700K›, ‹PO-88213›, ‹KB4023057›, ‹9f86d081884c7d65›, ‹0xDEADBEEF›",
    "‹0b101›, ‹0o17›, ‹1e-5›, ‹2.5E10›; the 2e prize",
    "‹12345678-1234-1234-1234-123456789012›, ‹1.4.x›, ‹localhost›, ‹+-x.h›, ‹INV-2024-001›",
    "Hi ‹*|FNAME|*›, ‹radio.fm›, ‹127.0.0.1:80/x›, ‹10.0.0.0/8›, ‹fe80::1›, ‹00-1A-2B-3C-4D-5E›.",
    # Blade, FreeMarker, RPG Maker, literal braces of vue-i18n
    "‹{!! $user !!}›, ‹<#if a>›no‹</#if>›, ‹\\N[1]› says, ‹{'{'}›a‹{'}'}›",
    # next to Chinese and Japanese
    "‹https://日本.jp/a›を見る, 人‹@anna_m›さん, 値は ‹--help›です, ‹1.2.0-rc.1+b.5›です",
    "‹@mia.k›, ‹#release›, ‹#1a2b3c›, ‹--no-color›, ‹--out=x›",
    "‹:attribute›, '‹:max›' and at ‹~/.config/x›, ‹C:\\My Files\\x y\\a.ini›, ‹/a1/{id}/b?n=1›",
    "‹@web/core@1.2.0›, ‹java.util.List›, order ‹#B-204›, use ‹--help› or ‹--top-k›",
    "型番‹X7B-2203›の‹main.py›を開く",
    "‹\x1b[31m›red‹\x1b[0m›",
    "Stop. ‹:count› left; wait: ‹:max_len›! ‹:name›",
    "(‹--dry-run›) “‹--help›” ‹v2.1.0-rc.1+b.7›, ‹3.0.1+b.2›, ‹QX‑4711› ‹QX–471›, ‹ＱＸ－４７１１›",
    "‹+81 3 1234 5678›, ‹(0711) 45 67 89›, ‹(415) 555-0132›, ‹03-1234-5678›, ‹+39(06)123456789›",
    "IBAN ‹FR14 2004 1010 0505 0001 3M02 606›, ‹NL91ABNA0417164300›.",
    "See ‹[›the manual‹]({{ url }})› or ‹![›logo‹](a/b.png \"x\")›, ‹**›new‹**› ‹==›so‹==›",
]  # fmt: skip
PROSE = [
    "B2B, COVID-19, 3D, 2nd, 1990s, mid-1800s, 50%, and/or, e-mail, McDonald, iPhone 15, U.S.",
    "10:30, #1, w/o, 5-jährig, aujourd'hui, 100% de, 5% off, [sic], [1], A/B, C++, F-16?, Wi-Fi",
    "LaTeX, eBay, PhD, km/h, 24/7, MP3, H2O, G8, R2D2, YouTube, JavaScript, mRNA, GmbH, kWh, pH",
    "B2B-Kunden, G20-Gipfel, U17-U21, 60W-100W, 10AM-11PM, 4x100m, A4, USB-C, B1-B12, EXPO-2005",
    "10:30:00, at 10:30::, EXPO-2005-Gelände, * | a | *",
    "20h45, 1.2.2024, 12.03.04, 1.000.000, 3.5, 1/2, 3:0, 2024-05-01, DM5000, USD2000, 5pm, 90er",
    "20 %ige Lösung, 100 %de réduction, %5'i, %50, 20%ig, Lehrer_innen, Lehrer_in, _so_, ___, a_",
    "[s]he, [i]t was, [he said], [Applause], he/she/it, word--and --so, amig@s, J.R.R., e.g.this",
    "A-320s, F-111As, comme [font] aussi, um 6 %zu verringern, `Abenteuer' und aus `Freude daran'",
    "+5 points, 2+2, (2019) 30 cases, (1, 2), 01-02-2024, 1990–1995, IN 2024 WE MET, GB24 THE SONG",
    "s**t, 2**8, a == b, (il partit ;) et revint",
    "O'Brien, DeWitt, (s), c(2), x = y, a -> b, <3 §5 & co., $5, US$ 10, rock'n'roll",
]  # fmt: skip


@pytest.mark.parametrize("marked", WITH_TOKENS)
def test_tokens_of_every_framework_are_found(marked: str) -> None:
    assert found(re.sub("[‹›]", "", marked)) == re.findall("‹(.*?)›", marked)


@pytest.mark.parametrize("text", PROSE)
def test_prose_has_no_code_like_tokens(text: str) -> None:
    assert found(text) == []


def test_tags_of_bbcode_are_pairs_as_those_of_html_are() -> None:
    spans = SpanFinder().find("[url=$x]a [B]b[/b][/url] [br] [i] [/u]")
    assert [(span.text, span.kind, span.partner) for span in spans] == [
        ("[url=$x]", "opening", 3),
        ("[B]", "opening", 2),
        ("[/b]", "closing", 1),
        ("[/url]", "closing", 0),
        *((text, "whole", -1) for text in ("[br]", "[i]", "[/u]")),
    ]
    lines = SpanFinder().find_in_lines(["[quote]a", "b[/quote]"])
    assert [[span.text for span in line] for line in lines] == [["[quote]"], ["[/quote]"]]


def test_ends_of_links_and_bold_text_of_markdown_are_pairs() -> None:
    spans = SpanFinder().find("**a** [b](c) ** d")
    assert [(span.text, span.kind, span.partner) for span in spans] == [
        *(("**", "opening", 1), ("**", "closing", 0)),
        *(("[", "opening", 3), ("](c)", "closing", 2)),
        ("**", "whole", -1),
    ]


def test_tags_of_bbcode_that_divide_lines_are_known() -> None:
    assert [breaks(tag) for tag in ("[br]", "[/center]", "[*]", "[b]")] == [True, True, True, False]


def test_one_letter_in_brackets_is_a_tag_only_if_it_is_closed() -> None:
    assert found("[s]he and [s]old[/s]") == ["[s]", "[/s]"]


@pytest.mark.parametrize("rule", some(some(CODE_RULES)), ids=lambda rule: rule.name)
def test_a_rule_that_is_switched_off_finds_nothing(rule: object) -> None:
    name = getattr(rule, "name", "")
    pattern = code_pattern(frozenset((name,)))
    assert name not in pattern.groupindex
    assert set(pattern.groupindex) > {each.name for each in CODE_RULES} - {name}


def test_other_rules_still_apply() -> None:
    config = TextConfig(unprotect="hashtag", protect="Z+")
    spans = config.span_finder().find("#news {n} ZZ")
    assert [span.text for span in spans] == ["{n}", "ZZ"]


def test_version_1_lacks_the_rules_that_are_new_in_version_2() -> None:
    text = "{n} %s <b> :smile: #news user_name a.txt v1.2.3 [b] %hours% --help X7B-2203"
    assert [span.text for span in TextConfig(version=1).span_finder().find(text)] == [
        *("{n}", "%s", "<b>", ":smile:")
    ]
    assert len(TextConfig().span_finder().find(text)) == 12


def test_an_unknown_rule_is_refused_with_a_near_one() -> None:
    with pytest.raises(DataError, match=r"'hashtags': did you mean 'hashtag'\?"):
        TextConfig(unprotect=("hashtags",))


# A pattern that takes quadratic time on one of these takes seconds.
@pytest.mark.parametrize(
    "unit",
    [
        *("[", "[b]a", "[[", "[%", "[a=", "[a b=c ", "[code]", "[aa]", "<%", "<%=", "$t(", "$a.a"),
        *("%d_", "%dx", "%a-", "%[1", "a_", "a.", "a::", "a-1", "aB", "AbCd", "a/", "a+b", "あ"),
        *("/a", "~/", "../", "--a-", "1.", "A1-", "{|", "{a|", "#a-", "@a/", "\\\\a", "C:\\"),
        *("a.b/", "*|", "*|a", "a:", "1:", "a::", "`a", "` `a", "``a`", "1.2.3.4/", "A-1-"),
    ],
)  # fmt: skip
def test_long_lines_take_linear_time(unit: str) -> None:
    line = (unit * 9_000)[:9_000]
    end = 0
    for match in code_pattern().finditer(line):
        assert match.start() >= end and match[0]
        end = match.end()
