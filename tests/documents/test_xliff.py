"""XLIFF files: units without a translation are texts, and everything else keeps its bytes."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from yakusu.data.lines.private_use import closing, empty, opening
from yakusu.documents.document import DocumentOptions, Known, Offer
from yakusu.documents.messages.xliff import XliffDocument, read
from yakusu.errors import DataError

NS_1 = 'xmlns="urn:oasis:names:tc:xliff:document:1.2"'
NS_2 = 'xmlns="urn:oasis:names:tc:xliff:document:2.0"'
TARGET = '<target state="needs-review-translation" state-qualifier="leveraged-mt">'
SEGMENT = '<segment state="translated" subState="yakusu:mt">'


def xliff_1(body: str, target: str = ' target-language="de"') -> str:
    return (
        f'<?xml version="1.0"?>\n<xliff {NS_1} version="1.2"><file source-language="en"{target}>'
        f"<header><note>Keep this</note></header><body>{body}</body></file></xliff>\n"
    )


def unit(source: str, target: str = "", attributes: str = "") -> str:
    return f'<trans-unit id="1"{attributes}><source>{source}</source>{target}</trans-unit>'


def xliff_2(units: str, attributes: str = ' trgLang="de"') -> str:
    return (
        f'<xliff {NS_2} version="2.0" srcLang="en"{attributes}><file id="f">{units}</file></xliff>'
    )


def segment(source: str, target: str = "", attributes: str = "") -> str:
    return f'<unit id="u"><segment{attributes}><source>{source}</source>{target}</segment></unit>'


def opened(data: str | bytes, *, retranslate: bool = False) -> XliffDocument:
    options = DocumentOptions(languages=("en", "de"), retranslate=retranslate)
    return read(data.encode() if isinstance(data, str) else data, options)


def rendered(data: str, translations: Sequence[str], *, retranslate: bool = False) -> str:
    return opened(data, retranslate=retranslate).render(translations).decode()


def texts(data: str, *, retranslate: bool = False) -> list[str]:
    return list(opened(data, retranslate=retranslate).texts)


def test_a_unit_without_target_gets_one_below_the_source() -> None:
    data = xliff_1(
        '\r\n  <trans-unit id="1">\r\n    <source>Good day &amp; bye</source>\r\n'
        "    <note>to all</note>\r\n  </trans-unit>\r\n"
    )
    assert texts(data) == ["Good day & bye"]
    assert rendered(data, ["Guten Tag < 1"]) == data.replace(
        "</source>", f"</source>\r\n    {TARGET}Guten Tag &lt; 1</target>"
    )


@pytest.mark.parametrize(
    "target", ["<target/>", "<target></target>", "<target>\n</target>", '<target  state="new" />']
)
def test_an_empty_target_is_filled(target: str) -> None:
    result = rendered(xliff_1(unit("Word", target)), ["Wort"])
    root = etree.fromstring(result.encode())
    (found,) = root.iter("{*}target")
    assert (found.text, found.get("state")) == ("Wort", "needs-review-translation")


def test_keys_of_messages_get_no_target_and_are_reported() -> None:
    data = xliff_1(unit("action.save") + unit('Save <x id="1"/>all') + unit("read-only"))
    document = opened(data)
    assert [text[:4] for text in document.texts] == ["Save", "read"]
    result = document.render([text.upper() for text in document.texts]).decode()
    assert result.count("<target") == 2 and "<source>action.save</source><target" not in result
    assert len(document.skipped) == 1
    assert document.skipped[0].endswith("'action.save' looks like an identifier, not like text")


def test_attributes_of_a_target_stay() -> None:
    data = xliff_1(unit("Word", "<target xml:lang='de' state='new'/>"))
    assert "<target xml:lang='de' state=\"needs-review-translation\"" in rendered(data, ["Wort"])


@pytest.mark.parametrize(
    "kept",
    [
        unit("Word", "<target>Wort</target>"),
        unit("Word", '<target state="new">Wort</target>'),
        unit("Word", '<target><x id="1"/></target>'),
        unit("Word", attributes=' translate="no"'),
        unit("Word", attributes=' approved="yes"'),
        f'<group translate="no"><group>{unit("Word")}</group></group>',
        unit("12 %"),
        unit(""),
        unit("<x id='1'/>"),
    ],
)
def test_other_units_are_kept(kept: str) -> None:
    assert texts(xliff_1(kept)) == []
    assert rendered(xliff_1(kept), []) == xliff_1(kept)


def test_translate_yes_inside_a_group_of_translate_no_counts() -> None:
    inner = unit("A", attributes=' translate="yes"')
    assert texts(xliff_1(f'<group translate="no">{inner}</group>')) == ["A"]


def test_a_copy_of_the_source_that_waits_for_translation_is_not_a_translation() -> None:
    data = xliff_1(unit("Word", '<target state="needs-translation">Word</target>'))
    assert texts(data) == ["Word"]
    assert f"{TARGET}Wort</target>" in rendered(data, ["Wort"])
    assert texts(xliff_1(unit("Word", "<target>Word</target>"))) == []


def test_retranslate_replaces_translations_but_not_approved_or_final_ones() -> None:
    data = xliff_1(
        unit("One", "<target>Eins</target>")
        + unit("Two", "<target>Zwei</target>", ' approved="yes"')
        + unit("Three", '<target state="final">Drei</target>')
    )
    assert texts(data, retranslate=True) == ["One"]
    assert rendered(data, ["Eine"], retranslate=True) == data.replace(
        "<target>Eins", f"{TARGET}Eine"
    )
    assert rendered(data, ["Eins"], retranslate=True) == data


def test_alternatives_notes_and_other_namespaces_stay() -> None:
    data = xliff_1(
        '<trans-unit id="1" xmlns:y="urn:y"><source>A cat</source><y:target>x</y:target>'
        "<alt-trans><source>A dog</source><target>Hund</target></alt-trans></trans-unit>"
    )
    assert texts(data) == ["A cat"]
    result = rendered(data, ["Katze"])
    assert result == data.replace("A cat</source>", f"A cat</source>{TARGET}Katze</target>")


def test_several_files_get_their_target_language() -> None:
    file = f'<file original="a"><body>{unit("One")}</body></file>'
    done = f'<file original="b"><body>{unit("One", "<target>Eins</target>")}</body></file>'
    data = f'<xliff {NS_1} version="1.2">{file}{done}</xliff>'
    result = rendered(data, ["Eins"])
    assert '<file original="a" target-language="de">' in result
    assert '<file original="b">' in result


def test_inline_elements_of_version_1_are_marks() -> None:
    source = (
        '<g id="1">Bold</g> and <x id="2"/> <bpt id="3">&lt;i></bpt>it<ept id="3">&lt;/i></ept>'
        ' <ph id="4">{0}</ph> <it id="5" pos="open">&lt;b></it> <bx id="6"/>x<ex id="7" rid="6"/>'
    )
    data = xliff_1(unit(source))
    (text,) = texts(data)
    assert text == (
        f"{opening(0)}Bold{closing(0)} and {empty(1)} {opening(2)}it{closing(2)} "
        f"{empty(3)} {empty(4)} {opening(5)}x{closing(5)}"
    )
    assert rendered(data, [text.replace("Bold", "Fett")]) == data.replace(
        "</source>", f"</source>{TARGET}{source.replace('Bold', 'Fett')}</target>"
    )


def test_pairs_of_codes_that_overlap_are_single_marks() -> None:
    source = '<bpt id="1">[</bpt>a<bpt id="2">(</bpt>b<ept id="1">]</ept>c<ept id="2">)</ept>'
    (text,) = texts(xliff_1(unit(source)))
    assert text == f"{opening(0)}a{empty(1)}b{closing(0)}c{empty(2)}"


def test_text_inside_code_is_a_text_of_its_own() -> None:
    source = 'See <ph id="1">&lt;img alt="<sub>A small <g id="2">cat</g></sub>"></ph> here'
    data = xliff_1(unit(source))
    assert texts(data) == [f"See {empty(0)} here", f"A small {opening(0)}cat{closing(0)}"]
    result = rendered(data, [f"Siehe {empty(0)}", f"{opening(0)}Katze{closing(0)}"])
    assert 'Siehe <ph id="1">&lt;img alt="<sub><g id="2">Katze</g></sub>"></ph></target>' in result


def test_protected_text_is_a_mark() -> None:
    data = xliff_1(unit('Run <mrk mtype="protected">make all</mrk> <mrk mtype="term">now</mrk>'))
    assert texts(data) == [f"Run {empty(0)} {opening(1)}now{closing(1)}"]


def test_each_segment_of_seg_source_is_a_text() -> None:
    segments = (
        '<mrk mtype="seg" mid="1">One here.</mrk> <g id="1">'
        '<mrk mtype="seg" mid="2">Two <x id="2"/>.</mrk></g>'
    )
    data = xliff_1(unit("One here. Two.", f"<seg-source>{segments}</seg-source>"))
    assert texts(data) == ["One here.", f"Two {empty(0)}."]
    new = segments.replace("One here", "Eins").replace("Two", "Zwei")
    assert rendered(data, ["Eins.", f"Zwei {empty(0)}."]) == data.replace(
        "</seg-source>", f"</seg-source>{TARGET}{new}</target>"
    )


def test_segments_that_are_translated_stay() -> None:
    segments = '<mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two.</mrk>'
    target = '<target><mrk mtype="seg" mid="1">Eins!</mrk> <mrk mtype="seg" mid="2"/></target>'
    data = xliff_1(unit("One. Two.", f"<seg-source>{segments}</seg-source>{target}"))
    assert texts(data) == ["Two."]
    new = '<mrk mtype="seg" mid="1">Eins!</mrk> <mrk mtype="seg" mid="2">Zwei.</mrk>'
    assert f"{TARGET}{new}</target>" in rendered(data, ["Zwei."])


def test_seg_source_without_segments_means_the_whole_source() -> None:
    assert texts(xliff_1(unit("One. Two.", "<seg-source>One. Two.</seg-source>"))) == ["One. Two."]


def test_cdata_stays_cdata() -> None:
    data = xliff_1(unit("<![CDATA[<p>Tom & Ann</p>]]>"))
    assert texts(data) == ["<p>Tom & Ann</p>"]
    assert "<target state" in rendered(data, ["<p>A & B]]></p>"])
    assert "><![CDATA[<p>A & B]]]]><![CDATA[></p>]]></target>" in rendered(
        data, ["<p>A & B]]></p>"]
    )


def test_comments_and_processing_instructions_in_a_source_stay() -> None:
    data = xliff_1(unit("One <!-- note --> two <?page a?>"))
    assert texts(data) == [f"One {empty(0)} two {empty(1)}"]
    assert "Zwei <!-- note --><?page a?></target>" in rendered(data, [f"Zwei {empty(0)}{empty(1)}"])


def test_indented_lines_are_joined_unless_space_is_preserved() -> None:
    source = "\n    One\n    two\n  "
    assert texts(xliff_1(unit(source))) == ["One two"]
    assert texts(xliff_1(unit(source, attributes=' xml:space="preserve"'))) == ["One\n    two"]
    assert f"{TARGET}{source}</target>" in rendered(xliff_1(unit(source)), ["One two"])


def test_icu_messages_with_inline_elements_have_a_text_for_each_branch() -> None:
    source = '{N, plural, one {<x id="1"/>a cat} other {<g id="2">{N}</g> cats}}'
    data = xliff_1(unit(source))
    assert texts(data) == [f"{empty(0)}a cat", f"{opening(0)}{empty(1)}{closing(0)} cats"]
    result = rendered(data, [f"{empty(0)}Katze", f"{opening(0)}{empty(1)}{closing(0)} Katzen"])
    assert source.replace("a cat", "Katze").replace(" cats", " Katzen") in result


@pytest.mark.parametrize(
    "translation",
    [
        "",
        "Fett",
        f"{closing(0)}Fett{opening(0)}",
        f"{opening(0)}Fett",
        f"{opening(0)}\x08{closing(0)}",
    ],
)
def test_translations_that_would_break_the_file_are_refused_and_counted(translation: str) -> None:
    data = xliff_1("\n" + unit('<g id="1">Bold</g>'))
    document = opened(data)
    assert document.render([translation]).decode() == data
    assert list(document.skipped) == [
        "line 3: the translation is blank or its markup is not that of the source"
    ]


def test_long_white_space_in_a_tag_takes_no_long_time() -> None:
    data = xliff_1(unit("Word", f"<target{' ' * 100_000}/>"))
    assert "Wort</target>" in rendered(data, ["Wort"])


def test_many_codes_without_an_end_are_single_marks() -> None:
    (text,) = texts(xliff_1(unit('A<bpt id="1"/>' * 8_000 + '<g id="2">A</g>')))
    assert text.count("A") == 8_001


def test_prefixes_of_the_namespace_are_used() -> None:
    data = (
        '<x:xliff xmlns:x="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><x:file><x:body>'
        '<x:trans-unit id="1"><x:source xml:space="preserve">A</x:source></x:trans-unit>'
        "</x:body></x:file></x:xliff>"
    )
    assert (
        '<x:target xml:space="preserve" state="needs-review-translation" '
        'state-qualifier="leveraged-mt">B</x:target>' in rendered(data, ["B"])
    )


def test_other_encodings_stay_and_characters_they_lack_are_references() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?>' + xliff_1(unit("Grüße"))[22:]
    result = opened(data.encode("iso-8859-1")).render(["Ü – 日"])
    assert result.decode("iso-8859-1") == data.replace(
        "</source>", f"</source>{TARGET}Ü &#8211; &#26085;</target>"
    )


def test_utf_16_and_byte_order_marks_stay() -> None:
    data = '<?xml version="1.0" encoding="utf-16"?>' + xliff_1(unit("Grüße"))[22:]
    result = opened(data.encode("utf-16")).render(["Ü"])
    assert result.decode("utf-16") == data.replace("</source>", f"</source>{TARGET}Ü</target>")
    marked = b"\xef\xbb\xbf" + xliff_1(unit("A")).encode()
    assert opened(marked).render(["B"]).startswith(b"\xef\xbb\xbf<?xml")


def test_segments_of_version_2_become_translated() -> None:
    data = xliff_2(
        '<unit id="1"><notes><note>n</note></notes><originalData><data id="d">x</data>'
        '</originalData><segment>\n <source>One <ph id="1" dataRef="d"/>.</source>\n</segment>'
        "<ignorable><source> </source></ignorable>"
        '<segment state="initial" id="s"><source>Two.</source><target>Two.</target></segment>'
        '<segment state="final"><source>Three.</source></segment></unit>'
    )
    assert texts(data) == [f"One {empty(0)}.", "Two."]
    result = rendered(data, [f"{empty(0)} Eins.", "Zwei."])
    assert result == data.replace(
        '<segment>\n <source>One <ph id="1" dataRef="d"/>.</source>',
        f'{SEGMENT}\n <source>One <ph id="1" dataRef="d"/>.</source>\n '
        '<target><ph id="1" dataRef="d"/> Eins.</target>',
    ).replace("<source> </source>", "<source> </source><target> </target>").replace(
        '<segment state="initial" id="s">',
        '<segment state="translated" id="s" subState="yakusu:mt">',
    ).replace("<target>Two.", "<target>Zwei.")


def test_the_target_language_of_version_2_is_added_with_the_first_target() -> None:
    assert 'srcLang="en" trgLang="de">' in rendered(xliff_2(segment("A"), ""), ["B"])
    assert rendered(xliff_2(segment("1"), ""), []) == xliff_2(segment("1"), "")


def test_inline_elements_of_version_2_are_marks() -> None:
    source = (
        '<pc id="1">Bold</pc> <ph id="2"/><cp hex="001A"/> <sc id="3"/>a<ec startRef="3"/> '
        '<mrk id="m" type="term">t</mrk> <mrk id="n" translate="no">keep</mrk> '
        '<sm id="s" translate="no"/>keep <ph id="4"/><em startRef="s"/> '
        '<ec id="9" isolated="yes"/>z'
    )
    data = xliff_2(segment(source))
    (text,) = texts(data)
    assert text == (
        f"{opening(0)}Bold{closing(0)} {empty(1)}{empty(2)} {opening(3)}a{closing(3)} "
        f"{opening(4)}t{closing(4)} {empty(5)} {empty(6)} {empty(7)}z"
    )
    assert f"<target>{source.replace('Bold', 'Fett')}</target>" in rendered(
        data, [text.replace("Bold", "Fett")]
    )


def test_translate_no_is_inherited_in_version_2() -> None:
    data = xliff_2(segment("A").replace("<unit", '<unit translate="no"'))
    assert texts(data) == []
    group = f'<group translate="no">{segment("A")}</group>'
    assert texts(xliff_2(group)) == []


def test_a_document_type_without_declarations_is_allowed() -> None:
    data = xliff_1(unit("A")).replace("?>\n", '?>\n<!DOCTYPE xliff PUBLIC "-//X//EN" "x.dtd">\n')
    assert texts(data) == ["A"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "line 1, column 1 is not well-formed XML"),
        ("<xliff>\n <a></b></xliff>", "line 2, column 7 is not well-formed XML"),
        ("<xliff version='1.2'>&nbsp;</xliff>", "line 1, column 22 is not well-formed"),
        ("<html/>", "root element is <html>"),
        ("<xliff version='3.0'/>", 'version "3.0"'),
        ('<!DOCTYPE a [<!ENTITY b "c">]>\n<xliff/>', "line 1: the DOCTYPE has declarations"),
        ("<?xml version='1.0' encoding='x-none'?><xliff/>", "encoding x-none is unknown"),
        ("<?xml version='1.0' encoding='idna'?><xliff/>", "encoding idna is unknown"),
        ("<!DOCTYPE xliff SYSTEM 'x'>\n<xliff>&c;</xliff>", "line 2: the entity c is not"),
        (b"<xliff version='1.2'>\n\xff</xliff>", "line 2 is not utf-8"),
        ("<xliff version='1.2'>" + "<g>" * 300, "more than 256 levels"),
    ],
)
def test_invalid_files_are_reported(data: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened(data)


INLINE_1 = st.recursive(
    st.sampled_from(["a", "é&amp;", "&lt;b>", " ", "\n", "<x id='1'/>", "\U000f0003", "&#13;"])
    | st.sampled_from(["<ph id='2'>x<sub>sub text</sub></ph>", "<bpt id='3'>[</bpt>", "{n}"])
    | st.sampled_from(["<ept id='3'>]</ept>", "<!-- c -->", "<![CDATA[<i>]]>", "B c"]),
    lambda inner: st.lists(inner, max_size=3).map(
        lambda parts: "<g id='9'>" + "".join(parts) + "</g>"
    ),
    max_leaves=6,
)
UNITS = st.builds(
    lambda parts, target, attributes: unit("".join(parts), target, attributes),
    st.lists(INLINE_1, max_size=5),
    st.sampled_from(["", "", "<target/>", "<target>Ja</target>", "\n<note>n</note>"]),
    st.sampled_from(["", "", ' translate="no"', ' xml:space="preserve"', ' approved="yes"']),
)


@settings(deadline=None)
@given(st.lists(UNITS, max_size=4), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_changed_translations_change_nothing_but_targets(
    units: list[str], retranslate: bool, newline: str
) -> None:
    data = xliff_1("\n".join(units)).replace("\n", newline).encode()
    document = opened(data, retranslate=retranslate)
    assert document.render([" "] * len(document.texts)) == data
    result = document.render([f"x <{text}> & y" for text in document.texts])
    assert list(document.skipped) == []
    assert len(list(etree.fromstring(result).iter("{*}target"))) >= len(
        list(etree.fromstring(data).iter("{*}target"))
    )
    added = re.sub(
        rb"<target( state=[^>]*leveraged-mt\")?( ?/>|>.*?</target>)", b"", result, flags=re.S
    )
    original = re.sub(rb"<target(/>|>.*?</target>)", b"", data, flags=re.S)
    assert added == original


@settings(deadline=None)
@given(st.lists(INLINE_1, max_size=5))
def test_identical_translations_copy_the_source(parts: list[str]) -> None:
    source = "".join(parts)
    document = opened(xliff_1(unit(source)))
    result = document.render(document.texts).decode()
    expected = f"{TARGET}{source}</target>" if document.texts else "</source></trans-unit>"
    assert expected in result


@pytest.mark.parametrize(
    ("data", "line", "side", "language"),
    [
        (xliff_1(unit("One"), ' target-language="fr-CA"'), 2, "target", "fr-CA"),
        (xliff_1(unit("One")).replace('"en"', '"ja"'), 2, "source", "ja"),
        (xliff_2(segment("One"), ' trgLang="fr"'), 1, "target", "fr"),
        (xliff_2(segment("One")).replace('"en"', '"nl"'), 1, "source", "nl"),
    ],
)
def test_a_file_in_other_languages_is_refused(
    data: str, line: int, side: str, language: str
) -> None:
    with pytest.raises(DataError) as error:
        opened(data)
    assert str(error.value).startswith(
        f"line {line}: the {side} language of the file is {language!r}, but the model translates "
    )
    assert list(read(data.encode(), DocumentOptions()).texts) == ["One"]


@pytest.mark.parametrize("target", ["", ' target-language="de-AT"', ' target-language="x-test"'])
def test_a_file_in_the_languages_of_the_model_is_read(target: str) -> None:
    assert texts(xliff_1(unit("One"), target).replace('"en"', '"EN_gb"')) == ["One"]


def test_only_files_with_something_to_translate_must_have_the_languages() -> None:
    done = xliff_1(unit("One", "<target>Un</target>"), ' target-language="fr"')
    assert texts(done) == []


@pytest.mark.parametrize(
    ("model", "stated", "same"),
    [
        ("no", "nb", True),
        ("nb-NO", "no", True),
        ("zh-CN", "zh-Hans", True),
        ("zh", "cmn", True),
        ("zh-Hans", "zh-Hant-TW", False),
        ("pt-PT", "pt-BR", True),
        ("sv", "nb", False),
    ],
)
def test_languages_are_the_same_without_their_regions(model: str, stated: str, same: bool) -> None:
    data = xliff_1(unit("One"), f' target-language="{stated}"').encode()
    options = DocumentOptions(("en", model))
    if same:
        assert list(read(data, options).texts) == ["One"]
    else:
        with pytest.raises(DataError, match="the model translates into"):
            read(data, options)


@pytest.mark.parametrize("empty_pair", ['<g id="3"></g>', '<g id="3"/>'])
def test_a_pair_that_encloses_nothing_is_a_pair_of_marks(empty_pair: str) -> None:
    data = xliff_1(unit(f"You have {empty_pair} three"))
    (text,) = texts(data)
    assert text == f"You have {opening(0)}{closing(0)} three"
    assert f"{TARGET}YOU HAVE {empty_pair} THREE</target>" in rendered(data, [text.upper()])


def test_plural_forms_between_bars_are_texts() -> None:
    data = xliff_1(unit('no rooms | <x id="1"/> rooms') + unit("<g>no rooms | many</g> here"))
    assert texts(data) == [
        "no rooms",
        f"{empty(0)} rooms",
        f"{opening(0)}no rooms | many{closing(0)} here",
    ]
    result = rendered(data, ["keine", f"{empty(0)} Zimmer", texts(data)[2]])
    assert f'{TARGET}keine | <x id="1"/> Zimmer</target>' in result


def test_positional_placeholders_keep_their_order() -> None:
    document = opened(xliff_1(unit("%d files in %s") + unit("%1$d files in %2$s")))
    result = document.render(["%s: %d Dateien", "%2$s: %1$d Dateien"]).decode()
    assert "%s: %d" not in result and "%2$s: %1$d Dateien" in result
    (reason,) = document.skipped
    assert reason.endswith("the translation has placeholders in another order: %s, %d")


def test_the_depth_of_texts_in_code_is_limited() -> None:
    def nested(depth: int) -> str:
        return xliff_1(unit("top" + "<ph><sub>in" * depth + "</sub></ph>" * depth))

    assert len(texts(nested(8))) == 9
    with pytest.raises(DataError, match="<sub> elements are nested more than 8 levels deep"):
        texts(nested(9))


def test_annotations_of_one_name_end_at_the_next_end() -> None:
    kept = '<sm id="s" translate="no"/>{}<em startRef="s"/>'
    source = f"Press {kept.format('one')} and {kept.format('two')} now"
    (text,) = texts(xliff_2(segment(source)))
    assert text == f"Press {empty(0)} and {empty(1)} now"


def test_a_segment_in_a_segment_is_a_part_of_it() -> None:
    mark = '<mrk mtype="seg" mid="{}">{}</mrk>'
    inner = mark.format(1, f"dog {mark.format(2, 'house')}")
    divided = f"<source>dog house</source><seg-source>{inner}</seg-source>"
    (text,) = texts(xliff_1(f"<trans-unit>{divided}</trans-unit>"))
    assert text == f"dog {opening(0)}house{closing(0)}"


def test_lines_of_reports_are_counted_over_several_files() -> None:
    key = "<trans-unit>\n<source>text_of_label</source></trans-unit>\n"
    file = f'<file source-language="en"><body>{key}</body></file>\n'
    document = opened(xliff_1("").replace("</xliff>", f"{file * 3}</xliff>"))
    numbers = [int(re.findall(r"\d+", reason)[0]) for reason in document.skipped]
    assert [number - numbers[0] for number in numbers] == [0, 3, 6]


def test_messages_beyond_a_limit_stay_and_are_reported() -> None:
    deep = "{n, plural, other {a " * 22 + "}}" * 22
    document = opened(xliff_1(unit(deep) + unit("dog")))
    assert list(document.texts) == ["dog"]
    assert "arguments nested more than 20 levels" in document.skipped[0]
    assert deep in document.render(["Hund"]).decode()


# ---- memories --------------------------------------------------------------------------------


def with_memory(data: str, translations: Sequence[str], known: dict[int, Known]) -> str:
    document = read(data.encode(), DocumentOptions(("en", "de")))
    document.tell(known)
    return document.render(translations).decode()


OFFERED = Known(None, [Offer(80, "Save this & that", f"Dies{empty(0)} speichern", 'team "A"')])


@pytest.mark.parametrize(
    ("match", "attributes"),
    [
        (100, 'state="translated" state-qualifier="exact-match"'),
        (99, 'state="needs-review-translation" state-qualifier="leveraged-tm"'),
        (None, 'state="needs-review-translation" state-qualifier="leveraged-mt"'),
    ],
)
def test_units_state_that_a_memory_translated_them(match: int | None, attributes: str) -> None:
    written = with_memory(xliff_1(unit("Save")), ["Speichern"], {0: Known(match)})
    assert f"<target {attributes}>Speichern</target>" in written


def test_segments_state_that_a_memory_translated_them() -> None:
    written = with_memory(xliff_2(segment("Save")), ["Speichern"], {0: Known(100)})
    assert '<segment state="translated" subState="yakusu:tm">' in written


def test_a_unit_of_several_texts_is_as_sure_as_the_least_sure_text() -> None:
    source = "One <g id='1'><sub>two</sub></g>"
    texts = list(read(xliff_1(unit(source)).encode(), DocumentOptions()).texts)
    written = with_memory(xliff_1(unit(source)), texts, {0: Known(100)})
    assert ("exact-match" in written) == (len(texts) == 1)


def test_offers_follow_the_target() -> None:
    written = with_memory(xliff_1(unit("Save that")), ["Das speichern"], {0: OFFERED})
    assert (
        '</target><alt-trans match-quality="80%" origin="team &quot;A&quot;">'
        "<source>Save this &amp; that</source><target>Dies speichern</target></alt-trans>"
        "</trans-unit>"
    ) in written


def test_offers_of_xliff_2_name_their_segment() -> None:
    data = xliff_2(segment("Save that", attributes=' id="s"'))
    written = with_memory(data, ["Das speichern"], {0: OFFERED})
    matches = etree.fromstring(written.encode()).find(".//{*}unit")[0]
    assert etree.QName(matches).namespace == "urn:oasis:names:tc:xliff:matches:2.0"
    assert matches[0].get("ref") == "#s"
    assert matches[0].get("matchQuality") == "80.0"
    assert [each.text for each in matches[0]] == ["Save this & that", "Dies speichern"]


def test_a_segment_without_an_id_gets_no_offers() -> None:
    written = with_memory(xliff_2(segment("Save that")), ["Das speichern"], {0: OFFERED})
    assert "matches" not in written


def test_elements_with_offers_have_the_prefix_of_their_unit() -> None:
    data = re.sub(r"<(/?)(?!\?)", r"<\1x:", xliff_1(unit("Save"))).replace("xmlns=", "xmlns:x=")
    written = with_memory(data, ["Speichern"], {0: OFFERED})
    assert "<x:alt-trans match-quality=" in written
    assert etree.fromstring(written.encode()).find(".//{*}alt-trans/{*}target").text


# ---- quality ---------------------------------------------------------------------------------


BAD = Known(quality=20, doubt="the model is unsure of its words")
GOOD = Known(quality=88)
REASON = "probably a bad translation (quality 20 of 100): the model is unsure of its words"


def retranslated(data: str, translation: str, known: Known) -> str:
    document = read(data.encode(), DocumentOptions(("en", "de"), retranslate=True))
    document.tell({0: known})
    return document.render([translation]).decode()


def test_targets_state_their_quality_as_its_mt_confidence() -> None:
    written = with_memory(xliff_1(unit("Save") + unit("Dog")), ["Sichern", "Hund"], {1: GOOD})
    one, other = etree.fromstring(written.encode()).iterfind(".//{*}target")
    its = "{http://www.w3.org/2005/11/its}"
    assert (other.get(f"{its}mtConfidence"), other.get(f"{its}annotatorsRef")) == (
        "0.88",
        "mt-confidence|yakusu",
    )
    assert not [name for name in one.attrib if name.startswith(its)]
    assert "<note from" not in written


def test_a_unit_has_a_note_if_its_translation_is_probably_bad() -> None:
    written = with_memory(xliff_1(unit("Save")), ["Spand"], {0: BAD})
    assert f'Spand</target><note from="yakusu">{REASON}</note></trans-unit>' in written
    again = retranslated(written, "Sichern", GOOD)
    assert 'its:mtConfidence="0.88">Sichern</target></trans-unit>' in again
    assert "mtConfidence" not in retranslated(written, "Sichern", Known(100))


def test_a_unit_of_xliff_2_has_a_note_if_a_translation_is_probably_bad() -> None:
    data = xliff_2(segment("Save"))
    note = f'<note category="yakusu" appliesTo="target">{REASON}</note>'
    written = with_memory(data, ["Spand"], {0: BAD})
    assert f"<notes>{note}</notes><segment state=" in written
    assert "<notes>" not in retranslated(written, "Sichern", GOOD)
    noted = data.replace("<segment", "<notes><note>Mine</note></notes><segment")
    written = with_memory(noted, ["Spand"], {0: BAD})
    assert f"<notes>{note}<note>Mine</note></notes>" in written
    assert "<notes><note>Mine</note></notes>" in retranslated(written, "Sichern", GOOD)
    assert with_memory(noted, ["Sichern"], {0: GOOD}) == with_memory(noted, ["Sichern"], {})


def test_a_unit_that_is_kept_is_reported_with_the_reason() -> None:
    document = read(xliff_1(unit("Save")).encode(), DocumentOptions(("en", "de")))
    document.tell({0: Known(kept="its quality is too low")})
    assert document.render([""]).decode() == xliff_1(unit("Save"))
    assert document.skipped == ["line 2: its quality is too low"]
