"""Message files of Qt Linguist (.ts): messages without a translation are texts.

    <message numerus="yes">
        <source>%n file(s)</source>
        <translation type="unfinished"><numerusform></numerusform></translation>
    </message>

A translation that is written has type="unfinished", which Linguist shows for review. Messages that
are vanished or obsolete stay. A message with a number has as many forms as Qt gives the language.

https://doc.qt.io/qt-6/linguist-ts-file-format.html
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, with_attribute
from yakusu.data.languages import language_code
from yakusu.documents.document import DocumentOptions
from yakusu.documents.languages import check_language
from yakusu.documents.messages.apps.xml_values import XmlValue
from yakusu.documents.messages.identifiers import is_key
from yakusu.documents.messages.po import NUMBERED
from yakusu.documents.messages.units import Edit, MessageUnit, UnitDocument, UnitString
from yakusu.errors import DataError

_DEAD = ("vanished", "obsolete")  # types of translations of messages that are not in the program
# Forms that Qt gives languages; the others have two. CLDR has other numbers.
_FORMS = {
    1: "bi dz fa fj gn hu id ja jv ko ms my na om su th tr tt vi bo yo za zh",
    3: "be bs ca cs fil ga hr lt lv mk pl ro ru sk sr tl uk",
    4: "gd mt sl",
    5: "cy",
    6: "ar",
}
_N_FORMS = {language: n for n, languages in _FORMS.items() for language in languages.split()}
_MOST_FORMS = 10


@dataclass(frozen=True)
class _QtString:
    """What writes the translation of a message.

    Attributes:
        value: The source.
        prefix: The start of what is written.
        suffix: Its end.
        form: What is before and after each form; None: the translation has none.
        n_forms: Number of forms.
    """

    value: XmlValue
    prefix: str
    suffix: str
    form: tuple[str, str] | None
    n_forms: int

    def write(self, string: str) -> str | None:
        """The source of a translation; None: its placeholders are not those of the source."""
        new = self.value.write(string)
        before, after = (_placeholders(each) for each in (self.value.marked.string, string))
        if new is None or before != after:
            return None
        start, end = self.form or ("", "")
        return self.prefix + f"{start}{new}{end}" * self.n_forms + self.suffix


class QtFile:
    """A message file of Qt Linguist.

    Args:
        data: The file.
        options: How it is read.

    Attributes:
        root: The root element, once the file has been parsed.
        has_texts: Whether there is a message to translate.

    Raises:
        DataError: The file is not in its encoding.
    """

    def __init__(self, data: bytes, options: DocumentOptions) -> None:
        self._xml = XmlFile(data)
        self._options = options
        self.root: Element | None = None
        self.has_texts = False

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each message; see `UnitFile`."""

        context = ""

        def use_unit(element: Element) -> None:
            nonlocal context
            if element.name == "name":
                context = element.text.strip()
            elif string := self._string(element):
                self.has_texts |= bool(string.texts)
                use(MessageUnit(element.attributes.get("id", "") or context, [string]))

        self.root = self._xml.parse(_is_used, use_unit)

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced, which names the target language."""
        root, language = self.root, self._options.languages[1]
        assert root is not None
        if edits and language and not root.attributes.get("language"):
            tag = self._xml.raw(root.start, root.inner)
            name = language.replace("-", "_")
            new = (root.start, root.inner, with_attribute(tag, "language", name))
            return self._xml.edited([new, *edits])
        return self._xml.edited(edits)

    def line_of(self, element: Element) -> int:
        """The line of an element."""
        return self._xml.line_of(element.start)

    def _string(self, message: Element) -> UnitString | None:
        """The message, if it is to be translated."""
        sources, targets = message.named("source"), message.named("translation")
        target = targets[0] if targets else None
        if not sources or not sources[0].text.strip() or message.parent is None:
            return None
        if target and target.attributes.get("type") in _DEAD:
            return None
        has_variants = target and any(each.name == "lengthvariant" for each in target.descendants())
        if target and target.text.strip() and not self._options.retranslate:
            return None
        value = XmlValue(self._xml, sources[0])
        line = self.line_of(message)
        start, end, writer = self._writer(message, value, target)
        string = UnitString(start, end, line, value.marked, writer.write)
        if has_variants:
            reason = string.reason("has translations of several lengths")
            return replace(string, problem=reason)
        if problem := value.marked.message.problem:
            return replace(string, problem=string.reason(f"cannot be translated: {problem}"))
        if is_key(value.marked.string):
            reason = string.reason("looks like an identifier, not like text")
            return replace(string, problem=reason)
        return string

    def _writer(
        self, message: Element, value: XmlValue, target: Element | None
    ) -> tuple[int, int, _QtString]:
        """What is replaced, and what writes it."""
        forms = target.named("numerusform") if target else []
        is_numerus = message.attributes.get("numerus") == "yes"
        n_forms = self._n_forms(message, len(forms)) if is_numerus else 1
        form = None
        if is_numerus:
            space = _space_before(self._xml, forms[0]) if forms else ""
            form = (f"{space}<numerusform>", "</numerusform>")
        if target:
            tag = self._xml.raw(target.start, target.inner)
            prefix = with_attribute(tag, "type", "unfinished").removesuffix("/>").rstrip()
            prefix += "" if prefix.endswith(">") else ">"
            last = forms[-1].end if forms else target.inner_end
            suffix = self._xml.raw(last, target.inner_end) if forms else ""
            written = _QtString(value, prefix, f"{suffix}</translation>", form, n_forms)
            return target.start, target.end, written
        before = [each for each in message.elements if not each.name.startswith("extra-")][-1]
        prefix = f'{_space_before(self._xml, before)}<translation type="unfinished">'
        return before.end, before.end, _QtString(value, prefix, "</translation>", form, n_forms)

    def _n_forms(self, message: Element, present: int) -> int:
        """Number of forms in the target language."""
        root = message
        while root.parent:
            root = root.parent
        stated = root.attributes.get("language", "")
        code = language_code(stated.replace("_", "-")) or self._options.languages[1]
        language = code.partition("-")[0].lower()
        return _N_FORMS.get(language, 2) if language else min(max(present, 1), _MOST_FORMS)


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a message file of Qt Linguist.

    Args:
        data: The file.
        options: `retranslate`: messages with a translation are texts, too. `languages`: a file in
            other languages is refused; the target language is written where the file states none.

    Raises:
        DataError: The data is not a message file, or it states other languages.
    """
    file = QtFile(data, options)
    document = UnitDocument(file)
    root = file.root
    assert root is not None
    line = file.line_of(root)
    if root.name != "TS":
        raise DataError(
            f"line {line}: the file begins with <{root.name}>, not with <TS>: check its format"
        )
    if file.has_texts:
        names = ("source", "sourcelanguage"), ("target", "language")
        for (side, name), wanted in zip(names, options.languages, strict=True):
            check_language(side, root.attributes.get(name, "").replace("_", "-"), wanted, line)
    return document


def _is_used(namespace: str, name: str) -> bool:
    return not namespace and name in ("name", "message")


def _placeholders(text: str) -> Counter[str]:
    return Counter(found[0] for found in NUMBERED.finditer(text))


def _space_before(file: XmlFile, element: Element) -> str:
    """The white space before an element."""
    parent = element.parent
    assert parent is not None
    place = next(i for i, child in enumerate(parent.children) if child is element)
    before = parent.children[place - 1] if place else None
    if not isinstance(before, CharacterData) or before.text.strip():
        return ""
    return file.raw(before.start, element.start)
