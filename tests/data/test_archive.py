"""Unsafe archives are refused with a sentence; rewriting keeps all other members."""

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.files.office import archive as module
from yakusu.data.files.office.archive import Archive
from yakusu.errors import DataError


def zipped(*members: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, data in members:
            archive.writestr(info, data)
    return target.getvalue()


def described(name: str, *, method: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1999, 12, 31, 23, 59, 58))
    info.compress_type = method
    info.external_attr = 0o640 << 16
    info.comment = b"a comment"
    info.extra = b"\x34\x12\x02\x00ok"
    return info


def message(data: bytes) -> str:
    with pytest.raises(DataError) as error:
        Archive(data)
    return str(error.value)


def test_attributes_of_zero_stay() -> None:
    info = zipfile.ZipInfo("a.xml")
    data = bytearray(zipped((info, b"old")))
    start = data.index(b"PK\x01\x02") + 38
    data[start : start + 4] = bytes(4)
    assert descriptions(bytes(data))[0][3] == 0
    assert descriptions(Archive(bytes(data)).rewritten({"a.xml": b"new"}))[0][3] == 0


def descriptions(data: bytes) -> list[tuple[object, ...]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [
            (i.filename, i.date_time, i.compress_type, i.external_attr, i.comment, i.extra)
            for i in archive.infolist()
        ]


MEMBERS = [
    (described("mimetype", method=zipfile.ZIP_STORED), b"application/text"),
    (described("folder/", method=zipfile.ZIP_STORED), b""),
    (described("b.xml"), b"<b/>" * 100),
    (described("größe.xml", method=zipfile.ZIP_BZIP2), b"<a/>"),
    (described("a.xml"), bytes(range(256)) * 100),
]


def test_rewriting_keeps_all_members_but_their_new_contents() -> None:
    data = zipped(*MEMBERS)
    new = Archive(data).rewritten({"b.xml": b"new"})
    assert descriptions(new) == descriptions(data)
    with zipfile.ZipFile(io.BytesIO(new)) as archive:
        assert archive.testzip() is None
        contents = [archive.read(info) for info in archive.infolist()]
    assert contents == [b"new" if i == 2 else content for i, (_, content) in enumerate(MEMBERS)]


def test_rewriting_is_deterministic_and_without_new_contents_returns_the_archive() -> None:
    archive = Archive(zipped(*MEMBERS))
    assert archive.rewritten({}) == zipped(*MEMBERS)
    assert archive.rewritten({"b.xml": b"x"}) == archive.rewritten({"b.xml": b"x"})


def test_an_archive_that_grows_too_much_is_refused() -> None:
    data = zipped(("bomb.xml", bytes(2**26 + 1)))
    assert "more than 100 times" in message(data)


def test_declared_sizes_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SIZE", 1000)
    assert "1,001 bytes when decompressed, more than 1,000" in message(zipped(("a", bytes(1001))))


def test_a_large_part_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PART", 1000)
    with pytest.raises(DataError, match="a has 1,001 bytes"):
        Archive(zipped(("a", bytes(1001)))).read("a")


def test_the_number_of_members_is_limited() -> None:
    members = [(f"{i}", b"") for i in range(module.MAX_MEMBERS + 1)]
    assert "10,001 members" in message(zipped(*members))


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1, "not a valid zip archive"),
        (99_999, "not a valid zip archive"),
        (100_001, "not a valid zip archive"),
        (2**31, "2,147,483,648 bytes when decompressed"),
    ],
)
def test_a_member_with_a_wrong_size_is_refused(size: int, words: str) -> None:
    data = zipped(("a.xml", bytes(100_000)))
    declared = (100_000).to_bytes(4, "little")
    assert words in message(data.replace(declared, size.to_bytes(4, "little")))


@pytest.mark.parametrize(
    "name", ["../a.xml", "a/../../b", "/etc/passwd", "c:\\a.xml", "..\\a.xml", "a/..\\b"]
)
def test_a_path_that_leads_out_of_the_archive_is_refused(name: str) -> None:
    assert "is an unsafe path" in message(zipped((name, b"")))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_with_one_name_are_refused() -> None:
    assert "'a' occurs twice" in message(zipped(("a", b"1"), ("a", b"2")))


def test_an_encrypted_member_is_refused() -> None:
    data = bytearray(zipped(("a.xml", b"text")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    assert message(bytes(data)) == "a.xml is encrypted: remove the password of the document"


@pytest.mark.parametrize("data", [b"", b"text", b"PK\x03\x04", b"PK\x05\x06" + bytes(10)])
def test_data_that_is_no_archive_is_refused(data: bytes) -> None:
    assert "not a valid zip archive" in message(data)


def test_a_long_name_in_a_damaged_archive_is_not_quoted_in_full() -> None:
    data = bytearray(zipped(("a.xml", b"text" * 1000), ("b.xml", bytes(range(256)) * 20)))
    data[26:28] = (300).to_bytes(2, "little")  # length of the first name
    assert len(message(bytes(data))) < 250


def test_a_missing_member_is_named() -> None:
    with pytest.raises(DataError, match=r"lacks b\.xml"):
        Archive(zipped(("a.xml", b""))).read("b.xml")


SMALL = zipped(*MEMBERS[:4])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SMALL) - 1), st.integers(0, 255))
def test_a_changed_byte_gives_the_members_or_a_sentence(place: int, value: int) -> None:
    data = bytearray(SMALL)
    data[place] = value
    try:
        archive = Archive(bytes(data))
        for name in archive.names:
            archive.read(name)
        archive.rewritten({archive.names[-1]: b"new"})
    except DataError:
        pass


@pytest.mark.parametrize("size", range(0, len(SMALL), 7))
def test_a_truncated_archive_is_refused(size: int) -> None:
    assert "zip archive" in message(SMALL[:size])
