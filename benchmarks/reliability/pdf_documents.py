"""Known documents that LibreOffice writes as PDF files, and the words of each in reading order.

    Known(...) -> flat OpenDocument text -> soffice --convert-to pdf -> PDF

The texts are generated from phrases in several languages. No two sentences are equal, because each
has a number of its own.
"""

import random
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

PHRASES = {  # language -> beginnings, middles, ends
    "en": (
        (
            "The old harbour",
            "Every considerate neighbour",
            "A well-known mathematician",
            "The committee",
            "This extraordinary instrument",
            "The municipal administration",
        ),
        (
            "described the international exhibition",
            "repaired both lighthouse windows",
            "carefully measured the temperature",
            "offered comfortable accommodation",
            "found office number",
        ),
        (
            "before the official opening ceremony",
            "without any unnecessary difficulties",
            "although the afternoon was cold",
            "in the neighbouring village",
        ),
    ),
    "de": (
        (
            "Die Wetterbeobachtungsstation",
            "Der freundliche Hausmeister",
            "Eine Straßenbahnhaltestelle",
            "Das Landesvermessungsamt",
            "Die Gemeindeverwaltung",
        ),
        (
            "beschreibt die Ausstellungseröffnung",
            "benötigt zusätzliche Aufmerksamkeit",
            "verschiebt die Mitgliederversammlung",
            "prüft Ein- und Ausgänge",
        ),
        (
            "trotz der Schwierigkeiten am Nachmittag",
            "während der Sommermonate",
            "gegenüber dem Bahnhofsvorplatz",
            "ohne jede Verzögerung",
        ),
    ),
    "fr": (
        (
            "La bibliothèque municipale",
            "Le gardien du phare",
            "Une association indépendante",
            "L’administration",
        ),
        (
            "présente l’exposition internationale",
            "répare les fenêtres de l’atelier",
            "observe soigneusement la température",
            "accueille les voyageurs fatigués",
        ),
        ("avant la cérémonie officielle", "malgré les difficultés imprévues", "près du vieux port"),
    ),
    "ru": (
        ("Городская библиотека", "Опытный наблюдатель", "Небольшая мастерская"),
        (
            "описывает международную выставку",
            "внимательно измеряет температуру",
            "принимает уставших путешественников",
        ),
        ("перед торжественным открытием", "несмотря на трудности", "возле старой гавани"),
    ),
    "ja": (
        ("古い港の灯台は", "町の図書館では", "若い研究者が"),
        ("毎朝の気温を正確に測り", "国際展示会の準備を進め", "旅人に温かい食事を出して"),
        ("記録を残しています", "窓を静かに直しました", "午後まで働きました"),
    ),
    "ar": (
        ("مكتبة المدينة", "حارس المنارة القديمة", "جمعية مستقلة"),
        ("تصف المعرض الدولي", "يقيس درجة الحرارة بدقة", "تستقبل المسافرين المتعبين"),
        ("قبل حفل الافتتاح", "رغم الصعوبات الكثيرة", "قرب الميناء"),
    ),
    "he": (
        ("הספרייה העירונית", "שומר המגדלור הישן", "אגודה עצמאית"),
        ("מתארת את התערוכה", "מודד את הטמפרטורה בדיוק", "מקבלת את פני הנוסעים"),
        ("לפני טקס הפתיחה", "למרות הקשיים הרבים", "ליד הנמל"),
    ),
}
_FONTS = {"ja": "IPAGothic", "ar": "Amiri", "he": "DejaVu Sans", "ru": "DejaVu Serif"}
RIGHT_TO_LEFT = ("ar", "he")
_HYPHENATED = (
    'fo:hyphenate="true" fo:hyphenation-remain-char-count="2" fo:hyphenation-push-char-count="2" '
)
_WORD = re.compile(r"[぀-ヿ㐀-鿿]|[^\W_぀-ヿ㐀-鿿]+")


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation; each Japanese character is one."""
    return _WORD.findall(text)


@dataclass(frozen=True)
class Known:
    """A document to generate.

    Attributes:
        name: Its name.
        language: Code of its language.
        columns: Columns of the text below the title.
        parts: What it contains: h a heading, p a paragraph, b a list with bullets, n one with
            numbers, t a table, f a paragraph with a footnote, l a long paragraph.
        running: Whether pages have a head, and a foot with a number.
        hyphenated: Whether words are divided at line ends.
        justified: Whether lines have equal lengths.
        indented: Whether paragraphs begin with an indentation, without space between them.
        font: The font.
        size: Size of the font in points.
        page: Width and height of a page in cm.
    """

    name: str
    language: str = "en"
    columns: int = 1
    parts: str = "hlpplhppbpn"
    running: bool = True
    hyphenated: bool = False
    justified: bool = False
    indented: bool = False
    font: str = "Liberation Serif"
    size: float = 11.0
    page: tuple[float, float] = (21.0, 29.7)


_ALL = "hpfphbpfnptplhffpbtl"
DOCUMENTS = (
    Known("plain"),
    Known("long", parts="hlplplhplplphlplpl", indented=True, justified=True),
    Known("all", parts=_ALL),
    Known("hyphens", parts="hllplhlbnpl", hyphenated=True, justified=True, font="Liberation Sans"),
    Known("two-columns", columns=2, parts="hlpplhppbplnpl" * 2, hyphenated=True, justified=True),
    Known("two-columns-notes", columns=2, parts="hlpfplhpfpplhflplpp" * 2, indented=True),
    Known("two-columns-tables", columns=2, parts="hlptplhpbtpplhlplpp", justified=True),
    Known("three-columns", columns=3, parts="hlpplhppbplp" * 2, size=8.5, page=(29.7, 21.0)),
    Known("notes", parts="hfffplhfpfplffpfhlfpff", size=12.0),
    Known("tables", parts="hptphtpptphttp", font="DejaVu Sans", running=False),
    Known("lists", parts="hpbpnpbbpnnphbnp"),
    Known("small", parts=_ALL, page=(14.8, 21.0), size=9.0, hyphenated=True, justified=True),
    Known("letter", parts="pplbp", running=False, page=(21.6, 27.9), size=12.0),
    Known("de", "de", parts=_ALL, hyphenated=True, justified=True),
    Known("de-columns", "de", columns=2, parts="hlpplhppbplnpl" * 2, hyphenated=True),
    Known("fr", "fr", parts=_ALL, hyphenated=True, indented=True, justified=True),
    Known("ru", "ru", parts=_ALL, columns=2),
    Known("ja", "ja", parts="hlplphbpnplhlptp", justified=True),
    Known("ar", "ar", parts="hlppbphlpnptpl", size=13.0),
    Known("he", "he", parts="hlpplhlplpp" * 2, columns=2, size=10.0),
)


@dataclass
class Written:
    """What is written of a document.

    Attributes:
        words: Its words in reading order; those of a footnote follow the paragraph.
        body: Elements of OpenDocument before the columns begin, and in them.
    """

    words: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)


def written(known: Known) -> Written:
    """Generate the content of a document."""
    writer = _Writer(known)
    title = writer.sentence()
    writer.add("text:h", title, 'text:style-name="Title"')
    for part in known.parts:
        writer.part(part)
    return writer.done


class _Writer:
    def __init__(self, known: Known) -> None:
        self._known, self.done = known, Written()
        self._random = random.Random(known.name)
        self._number = 100

    def sentence(self) -> str:
        self._number += 1
        space = "" if self._known.language == "ja" else " "
        chosen = map(self._random.choice, PHRASES[self._known.language])
        first, middle, last = chosen
        end = {"ja": "。"}.get(self._known.language, ".")
        return f"{first}{space}{middle}{space}{self._number}{space}{last}{end}"

    def sentences(self, least: int, most: int) -> str:
        space = "" if self._known.language == "ja" else " "
        return space.join(self.sentence() for _ in range(self._random.randint(least, most)))

    def add(self, tag: str, text: str, attributes: str = "", note: str = "") -> None:
        self.done.words += words_of(text) + words_of(note)
        self.done.body.append(f"<{tag} {attributes}>{escape(text)}{_note(note)}</{tag}>")

    def part(self, part: str) -> None:
        if part == "h":
            level = self._random.choice((1, 2, 2))
            text = self.sentence().rstrip(".。")
            self.add("text:h", text, f'text:outline-level="{level}" text:style-name="H{level}"')
        elif part in "bn":
            self._list("Bullets" if part == "b" else "Numbers")
        elif part == "t":
            self._table()
        else:
            least, most = (9, 16) if part == "l" else (2, 5)
            note = self.sentence() if part == "f" else ""
            self.add("text:p", self.sentences(least, most), 'text:style-name="Body"', note)

    def _list(self, style: str) -> None:
        items = [self.sentences(1, 2) for _ in range(self._random.randint(3, 5))]
        self.done.words += [word for item in items for word in words_of(item)]
        listed = "".join(map(_ITEM.format, map(escape, items)))
        self.done.body.append(f'<text:list text:style-name="{style}">{listed}</text:list>')

    def _table(self) -> None:
        n_columns = self._random.choice((2, 3))
        rows = list[str]()
        for _ in range(self._random.randint(3, 6)):
            cells = [self.sentence()[:-1] for _ in range(n_columns)]
            self.done.words += [word for cell in cells for word in words_of(cell)]
            rows.append("".join(_CELL.format(escape(cell)) for cell in cells))
        inside = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
        columns = f'<table:table-column table:number-columns-repeated="{n_columns}"/>'
        self.done.body.append(f"<table:table>{columns}{inside}</table:table>")


_ITEM = '<text:list-item><text:p text:style-name="Item">{}</text:p></text:list-item>'
_CELL = (
    '<table:table-cell table:style-name="Cell"><text:p text:style-name="Item">{}</text:p>'
    "</table:table-cell>"
)


def _note(text: str) -> str:
    if not text:
        return ""
    paragraph = f'<text:p text:style-name="Note">{escape(text)}</text:p>'
    inside = f"<text:note-citation>1</text:note-citation><text:note-body>{paragraph}"
    return f'<text:note text:note-class="footnote">{inside}</text:note-body></text:note>'


# ---- OpenDocument --------------------------------------------------------------------------------


def open_document(known: Known, content: Written) -> str:
    """A document as flat OpenDocument text."""
    first, *rest = content.body
    body = "".join(rest)
    if known.columns > 1:
        body = f'<text:section text:style-name="Columns" text:name="c">{body}</text:section>'
    named = [(each, each) for each in ("office", "text", "style", "table")]
    named += [("fo", "xsl-fo-compatible"), ("svg", "svg-compatible")]
    spaces = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in named
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document{spaces} office:version="1.2" '
        'office:mimetype="application/vnd.oasis.opendocument.text">'
        f"<office:font-face-decls>{''.join(map(_face, {known.font, *_FONTS.values()}))}"
        f"</office:font-face-decls>{_styles(known)}"
        f"<office:body><office:text>{first}{body}</office:text></office:body></office:document>"
    )


def _face(name: str) -> str:
    return f'<style:font-face style:name="{name}" svg:font-family="\'{name}\'"/>'


def _styles(known: Known) -> str:
    language = known.language
    font = _FONTS.get(language, known.font)
    country = {"en": "US", "ja": "JP", "ar": "EG", "he": "IL"}.get(language, language.upper())
    direction = "rl-tb" if language in RIGHT_TO_LEFT else "lr-tb"
    start = "right" if language in RIGHT_TO_LEFT else "left"
    align = "justify" if known.justified else start
    space, indent = ("0cm", "0.6cm") if known.indented else ("0.25cm", "0cm")

    def style(name: str, paragraph: str, factor: float = 1.0, more: str = "") -> str:
        text = "".join(
            f' style:font-name{kind}="{font}" {prefix}:language{kind}="{language}" '
            f'{prefix}:country{kind}="{country}" '
            f'{prefix}:font-size{kind}="{known.size * factor:.1f}pt"'
            for kind, prefix in (("", "fo"), ("-asian", "style"), ("-complex", "style"))
        )
        return (
            f'<style:style style:name="{name}" style:family="paragraph">'
            f'<style:paragraph-properties style:writing-mode="{direction}" {paragraph}/>'
            f"<style:text-properties{text} {_HYPHENATED * known.hyphenated}{more}/></style:style>"
        )

    body = f'fo:text-align="{align}" fo:margin-bottom="{space}" fo:text-indent="{indent}"'
    heading = f'fo:text-align="{start}" fo:margin-top="0.4cm" fo:margin-bottom="0.2cm"'
    bullets = _level("bullet", 'text:bullet-char="•"')
    numbers = _level("number", 'style:num-format="1" style:num-suffix="."')
    return (
        "<office:styles>"
        + style("Body", body)
        + style("Item", f'fo:text-align="{start}"')
        + style("Note", f'fo:text-align="{start}"', 0.82)
        + style("Running", 'fo:text-align="center"', 0.82)
        + style("Title", 'fo:text-align="center" fo:margin-bottom="0.5cm"', 1.8)
        + style("H1", heading, 1.5, 'fo:font-weight="bold"')
        + style("H2", heading, 1.25, 'fo:font-weight="bold"')
        + f'<text:list-style style:name="Bullets">{bullets}</text:list-style>'
        f'<text:list-style style:name="Numbers">{numbers}</text:list-style></office:styles>'
        '<office:automatic-styles><style:style style:name="Cell" style:family="table-cell">'
        '<style:table-cell-properties fo:border="0.5pt solid #000000" fo:padding="0.1cm"/>'
        '</style:style><style:style style:name="Columns" style:family="section">'
        f'<style:section-properties><style:columns fo:column-count="{known.columns}" '
        'fo:column-gap="0.6cm"/></style:section-properties></style:style>'
        f"{_page(known, direction)}</office:automatic-styles>{_masters(known)}"
    )


def _level(kind: str, attributes: str) -> str:
    tag = f"text:list-level-style-{kind}"
    return (
        f'<{tag} text:level="1" {attributes}><style:list-level-properties '
        'text:list-level-position-and-space-mode="label-alignment">'
        '<style:list-level-label-alignment text:label-followed-by="listtab" '
        'fo:text-indent="-0.6cm" fo:margin-left="1.2cm"/>'
        f"</style:list-level-properties></{tag}>"
    )


def _page(known: Known, direction: str) -> str:
    width, height = known.page
    return (
        '<style:page-layout style:name="P"><style:page-layout-properties '
        f'fo:page-width="{width}cm" fo:page-height="{height}cm" fo:margin="2cm" '
        f'style:writing-mode="{direction}"/><style:header-style/><style:footer-style/>'
        "</style:page-layout>"
    )


def _masters(known: Known) -> str:
    running = ""
    if known.running:
        paragraph = '<text:p text:style-name="Running">{}</text:p>'
        head = paragraph.format(f"yakusu {known.name}")
        foot = paragraph.format("<text:page-number/> / <text:page-count/>")
        running = f"<style:header>{head}</style:header><style:footer>{foot}</style:footer>"
    return (
        '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="P">'
        f"{running}</style:master-page></office:master-styles>"
    )


def convert(folder: Path, documents: Sequence[Known] = DOCUMENTS) -> dict[str, list[str]]:
    """Write documents as PDF files, and return the words of each in reading order.

    Args:
        folder: Where NAME.pdf is written.
        documents: The documents.
    """
    words = {}
    for known in documents:
        content = written(known)
        words[known.name] = content.words
        (folder / f"{known.name}.fodt").write_text(open_document(known, content), encoding="utf-8")
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile"]
    names = [str(folder / f"{known.name}.fodt") for known in documents]
    subprocess.run(
        [*command, "--convert-to", "pdf", "--outdir", str(folder), *names],
        check=True,
        capture_output=True,
    )
    return words
