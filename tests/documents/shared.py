"""What the tests of several formats share."""

import io
import re
import zipfile
from collections.abc import Callable

from yakusu.data.lines.private_use import (
    MARKS,
    closing,
    empty,
    is_break,
    is_closing,
    is_opening,
    number_of,
    opening,
)
from yakusu.documents.document import Document

O0, C0, O1, C1 = opening(0), closing(0), opening(1), closing(1)
E0, E1, E2 = empty(0), empty(1), empty(2)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def with_members(data: bytes, new: dict[str, bytes]) -> bytes:
    """An archive with other contents, and with more members."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members(data) | new).items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def described(data: bytes) -> list[tuple[object, ...]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [
            (i.filename, i.date_time, i.compress_type, i.external_attr, i.extra)
            for i in archive.infolist()
        ]


def translated(document: Document, translate: Callable[[str], str]) -> bytes:
    """A document with each text translated."""
    return document.render([translate(text) for text in document.texts])


def readable_texts(document: Document) -> list[str]:
    return [readable(text) for text in document.texts]


def within(content: bytes, around: str) -> str:
    """What a member has in place of the "|" in what is around it."""
    before, after = around.split("|")
    text = content.decode()
    assert text.startswith(before) and text.endswith(after)
    return text.removeprefix(before).removesuffix(after)


def readable(text: str) -> str:
    """A text with its marks as <n>, </n>, <n/> and <n br/>."""

    def shown(match: re.Match[str]) -> str:
        mark, n = match[0], number_of(match[0])
        if is_break(mark):
            return f"<{n} br/>"
        return f"<{n}>" if is_opening(mark) else f"</{n}>" if is_closing(mark) else f"<{n}/>"

    return re.sub(MARKS, shown, text)


def reversed_words(text: str) -> str:
    """Reverse the words between each two marks, which stay in place."""
    parts = re.split(f"({MARKS})", text)
    return "".join(
        part if re.match(MARKS, part) else " ".join(reversed(part.split(" "))) for part in parts
    )
