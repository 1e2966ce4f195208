"""The encodings of text files: UTF-8 unless a file cannot be; then detected, stated, converted.

    bytes -> not UTF-8? -> candidates (charset-normalizer) -> those that decode the whole file
          -> the one whose letters belong to one language -> its name, or a question to the user

Several names for the same letters are one candidate. If candidates decode to different letters and
none is clearly better, nothing is guessed. Files are converted as they are read, never on disk.
"""

import codecs
import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from yakusu import lazy
from yakusu.data.files.compressed import DamagedError, open_binary
from yakusu.data.files.shortened import shorten
from yakusu.errors import DataError

_log = logging.getLogger(__name__)
_BLOCK = 2**18  # bytes that are decoded at a time
_SAMPLE = 2**16  # bytes from which an encoding is detected
_FEW = 4  # bytes; a file with no more invalid ones is UTF-8 with errors
_SURE = 2  # characters beyond ASCII of a line that are valid in UTF-8 by chance in few lines
_MIXED = 0.05  # such lines, as a share of those that are not UTF-8: both encodings are in the file
_DAMAGED = 0.005  # share of bytes beyond ASCII that may be invalid in the encoding of a file
_SHOWN = 50  # characters of a line in a message
_LISTED = 5  # candidates in a question
_MARGIN = 0.04  # of the share of letters that belong to a language
_CHAOS, _COHERENCE = 0.1, 0.2  # worse than those of the best candidate: not a candidate
_SAME = 0.002  # share of letters in which two versions of one encoding differ
_CONTROL_WEIGHT = 20  # of a control character, which no text has
_ASCII = b"<\\u0041+AGE-~{.xn--4ca."  # other characters in encodings that do not extend ASCII
_ASCII_BYTES = bytes(range(128))
_INVALID = "yakusu-invalid"  # name of an error handler of codecs
_WIDE = re.compile("utf_(16|32)(_[bl]e)?")  # encodings that do not extend ASCII, but are of files
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# The encodings in use; of several names for the same letters, the most probable one.
_PREFERRED = (
    *("cp1252", "cp949", "euc_kr", "cp932", "euc_jp", "gb18030", "big5hkscs", "mac_roman"),
    *("cp1250", "cp850", "iso8859_2", "cp1251", "koi8_u", "cp866", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp1257", "cp874"),
)
_LATIN = ("cp1252", "mac_roman", "cp1250", "cp850")
# Letters that are not in ASCII, by language. Candidates differ in them.
_ALPHABETS = tuple(
    lazy.compile(f"[{letters}]")
    for letters in (
        *("áčďéěíňóřšťúůýž", "æøåéèêóòôâ", "äöüßé", "áéíóúüñ", "äöüõšž", "äöåšžé"),
        *("àâæçéèêëîïôœùûüÿ", "áéíóöőúüű", "áéíóúýþæöð", "àèéìîòóù", "ąčęėįšųūž"),
        *("āčēģīķļņšūž", "éèëïöüáíóúê", "ąćęłńóśźż", "áâãàçéêíóôõúü", "ăâîșțşţ"),
        *("áäčďéíĺľňóôŕšťúýž", "čšžćđ", "ëç", "åäöé", "çğıöşüâîû", "àçéèíïóòúü", "ĉĝĥĵŝŭ"),
        *("ċġħżàèìòù", "âêîôûŵŷ", "êëéèôûîïáö", "āēīōū", "\u0430-\u045f\u0491", "ά-ώ"),
        *("\u05b0-\u05ea", "\u060c-\u0652\u067e\u0686\u0698\u06a9\u06af\u06cc", "\u0e01-\u0e5b"),
        *("\uac00-\ud7a3", "\u3041-\u30fe\u4e00-\u9fff", "\u4e00-\u9fff"),
    )
)
# Encodings whose names are used for their extensions, too.
_WHOLE = {"euc_kr": "cp949", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030"}
_JAPANESE = ("cp932", "shift_j", "euc_j")
_CHINESE_OR_KOREAN = ("cp949", "euc_kr", "johab", "gb18030", "big5hkscs")  # texts have no kana
_FILLER = "\u3164"  # begins a syllable of several codes in EUC-KR
_KANA = re.compile("[\u3041-\u30fe]")
_WRITTEN = re.compile("[\xa0¡¿«»‘’‚“”„‹›–—…·•°§£€™©®×ªº\u3000-\u3011\uff01-\uff5e]")  # anywhere


@dataclass(frozen=True)
class _Candidate:
    """An encoding in which a sample may be.

    Attributes:
        name: Its name, of several the preferred one.
        letters: Those of the sample that are not ASCII.
        chaos: charset-normalizer's measure of disorder; None: it does not list this encoding.
        coherence: Its measure of the probability of the letters in a language.
        familiar: The share of characters beyond ASCII that belong to one language.
    """

    name: str
    letters: Counter[str]
    chaos: float | None
    coherence: float
    familiar: float

    def is_close(self, best: "_Candidate") -> bool:
        """Whether its letters are as common in a language as those of the most probable one."""
        return self.familiar >= best.familiar - _MARGIN

    def rivals(self, best: "_Candidate") -> bool:
        """Whether this encoding may be right instead of the most probable one."""
        if self.chaos is None:  # left out for a few Latin letters, not as unreadable
            is_better = self.familiar > best.familiar
            return is_better or (self.name in _LATIN and self.is_close(best))
        return (
            self.name in _PREFERRED
            and self.is_close(best)
            and self.chaos <= (best.chaos or 0) + _CHAOS
            and self.coherence >= best.coherence - _COHERENCE
        )

    def differs(self, other: "_Candidate") -> bool:
        """Whether it gives other letters, apart from a few that some versions write otherwise."""
        n = (self.letters - other.letters).total() + (other.letters - self.letters).total()
        return n > _SAME * max(self.letters.total(), other.letters.total())


def require_encoding(name: str) -> str:
    """Return Python's name of an encoding of text files, or that of its most common extension.

    Raises:
        ValueError: It is unknown, or not for text files.
    """
    try:
        known = codecs.lookup(name).name.replace("-", "_")
    except (LookupError, ValueError):
        known = ""
    if not known or not (_WIDE.fullmatch(known) or known == "utf_8_sig" or _is_for_text(known)):
        raise ValueError(
            f"'{name}' is not a known text encoding: use one that Python supports, such as cp949, "
            "cp1252 or utf-16"
        )
    return "utf-8" if known == "utf_8_sig" else _WHOLE.get(known, known).replace("utf_", "utf-")


def extends_ascii(encoding: str) -> bool:
    """Whether an encoding is known and extends ASCII, as one that a file names in ASCII must.

    Python also supports EBCDIC, and codecs such as "unicode_escape" that are not file encodings.
    """
    try:
        return _ASCII.decode(encoding) == _ASCII.decode("ascii")
    except (LookupError, UnicodeError):
        return False


def _is_for_text(encoding: str) -> bool:
    """Whether an encoding writes ASCII as ASCII, if not only ASCII: ISO-2022-JP does."""
    return extends_ascii(encoding) or encoding.startswith(("iso2022", "shift_jis"))


def open_utf8(path: Path, encoding: str = "") -> io.BufferedReader:
    """Open a text file, which may be compressed, as UTF-8.

    Args:
        path: The file.
        encoding: Its encoding; "": UTF-8. A byte that is not in it is read as 0xFF, which is
            invalid in UTF-8, too.

    Raises:
        DataError: See `open_binary`.
    """
    file = open_binary(path)
    if encoding in ("", "utf-8"):
        return file
    codecs.register_error(_INVALID, _invalid)
    return io.BufferedReader(_Converted(file, encoding, path), _BLOCK)


def _invalid(error: UnicodeError) -> tuple[str, int]:
    """Read an invalid byte, or code of UTF-16, as a surrogate that `_Converted` writes as 0xFF."""
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end if error.encoding.startswith("utf") else error.start + 1


class _Converted(io.RawIOBase):
    """The content of a file in UTF-8."""

    def __init__(self, file: io.BufferedReader, encoding: str, path: Path) -> None:
        self._file, self._rest, self._path = file, b"", path
        self._decoder = codecs.getincrementaldecoder(encoding)(_INVALID)
        self._is_done = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        while not self._rest and not self._is_done:
            data = self._file.read1(_BLOCK)
            self._is_done = not data
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:  # of UTF-16 and UTF-32; invalid bytes are no error
                raise DataError(
                    f"{self._path} has no byte order mark: state another encoding, such as "
                    "utf-16-le"
                ) from error
            self._rest = text.encode("utf-8", "surrogateescape")
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


# ---- detection -----------------------------------------------------------------------------------


def is_utf8(path: str | Path) -> bool:
    """Whether a file is UTF-8, whatever encoding is stated; False: it cannot be read.

    ASCII with NUL or escape characters may be UTF-16 or ISO-2022.
    """
    decoder, is_ascii, is_plain = codecs.getincrementaldecoder("utf-8")(), True, True
    try:
        with open_binary(Path(path)) as file:
            while block := file.read(_BLOCK):
                is_ascii = is_ascii and block.isascii()
                is_plain = is_plain and b"\0" not in block and b"\x1b" not in block
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except (DataError, UnicodeDecodeError):
        return False
    return is_plain or not is_ascii


def specified_encoding(path: str | Path, name: str) -> str:
    """Return the encoding of a text file for which the user specified one: it, or "utf-8".

    A file that is UTF-8 is read as such, because the other file of a corpus may not be. A log
    message says once if another encoding is far more probable.

    Args:
        path: The file.
        name: The encoding, as `require_encoding` returns it.
    """
    try:
        stat = Path(path).stat()
    except OSError:
        return name  # reported when the file is read
    return _specified(str(path), name, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=64)
def _specified(path: str, name: str, size: int, changed: int) -> str:
    """The encoding of a file with a size and a time of change, for which one was specified."""
    if is_utf8(path):
        return "utf-8"
    sample = _sample(path)
    found = _most_probable(path, sample) if sample else []
    if len(found) == 1 and _candidate(name, sample).differs(_candidate(found[0], sample)):
        _log.warning(
            "%s is read as %s, as specified, but is probably %s, as in '%s': if these letters are "
            "right, specify --encoding %s",
            path,
            name,
            found[0],
            _first_line(path, found[0]),
            found[0],
        )
    return name


def _sample(path: str) -> bytes:
    """Lines from which the encoding of a file can be detected; b"": there are none."""
    try:
        return _invalid_lines(path)
    except (OSError, DamagedError):
        return b""  # reported when the file is read


def detected_encoding(path: str | Path) -> str:
    """Return the encoding of a text file that is not UTF-8; "": it is, or cannot be read as text.

    A file that is UTF-8 except for a few bytes counts as UTF-8. The encoding is stated in a log
    message, once.

    Raises:
        DataError: Several encodings are possible that decode to different letters.
    """
    try:
        if not Path(path).is_file():
            return ""
        stat = Path(path).stat()
        return _detected(str(path), stat.st_size, stat.st_mtime_ns)
    except (OSError, DamagedError):
        return ""  # reported when the file is read


@lru_cache(maxsize=64)
def _detected(path: str, size: int, changed: int) -> str:
    """The encoding of a file with a size and a time of change."""
    with open_binary(Path(path)) as file:
        wide = _wide_encoding(file.peek(4096)[:4096])
    if not wide and _decodes(path, "utf-8"):
        return ""
    sample = b"" if wide else _invalid_lines(path)
    if not (wide or sample):
        return ""
    found = [wide] if wide else _most_probable(path, sample)
    if len(found) != 1:
        raise _ambiguous(path, sample, found)
    _log.warning(
        "%s is not UTF-8 and is read as %s, as in '%s': if these letters are right, there is "
        "nothing to do; otherwise, specify its encoding with --encoding",
        path,
        found[0],
        _first_line(path, found[0]),
    )
    return found[0]


def _wide_encoding(head: bytes) -> str:
    """The encoding that a byte order mark, or NUL bytes at every second place, show; "": none."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" not in head:
        return ""
    # In the wrong order of bytes, a line break is U+0A00, which is no character.
    whole = head[: len(head) // 2 * 2]
    texts = {name: whole.decode(name, "replace") for name in ("utf-16-le", "utf-16-be")}
    found = [
        name
        for name, text in texts.items()
        if all(each.isprintable() or each.isspace() for each in text)
        and ("\n" in text or b"\n" not in head)
    ]
    return found[0] if len(found) == 1 else ""


def _invalid_lines(path: str) -> bytes:
    """Lines that are not UTF-8, evenly over a file; b"": too many others are for another encoding.

    By chance, single characters of another encoding are valid, but hardly ever all of a line.
    """
    n_valid = n_invalid = n_lines = n_valid_lines = 0
    kept, step, size = list[bytes](), 1, 0
    with open_binary(Path(path)) as file:
        for line in _raw_lines(file):
            if line.isascii():
                continue
            text = line.decode("utf-8", "surrogateescape")
            n = sum("\udc80" <= each <= "\udcff" for each in text)
            n_own = sum(each > "\x7f" for each in text) - n
            n_valid += n_own
            n_invalid += n
            if not n:
                n_valid_lines += n_own >= _SURE
                continue
            if b"\0" in line:
                return b""
            n_lines += 1
            if n_lines % step == 0:
                kept.append(line)
                size += len(line)
            if size > _SAMPLE:
                kept, step = kept[::2], 2 * step
                size = sum(map(len, kept))
    if len(kept) > 1 and not kept[-1].endswith(b"\n"):
        del kept[-1]  # a truncated file ends within a character
    is_mixed = n_valid_lines > max(_FEW, _MIXED * n_lines)
    return b"" if is_mixed or n_invalid <= max(_FEW, n_valid) else b"".join(kept)


def _raw_lines(file: io.BufferedReader) -> Iterator[bytes]:
    """The lines of a file, of which those longer than a sample are divided."""
    while line := file.readline(_SAMPLE // 4):
        yield line


def _most_probable(path: str, sample: bytes) -> list[str]:
    """Names of encodings that decode a file to different letters, the most probable one first."""
    from charset_normalizer import from_bytes  # takes time to import

    found, seen = list[_Candidate](), set[str]()
    for match in from_bytes(sample, enable_fallback=False):
        seen.update(match.could_be_from_charset)
        names = [name for name in _PREFERRED if name in match.could_be_from_charset]
        for name in (*names, match.encoding):
            if _is_for_text(name) and _decodes(path, name, _DAMAGED):
                found.append(_candidate(name, sample, match.chaos, match.coherence))
                break
    for name in _PREFERRED:  # charset-normalizer leaves some out
        if name not in seen and _decodes(path, name, _DAMAGED):
            found.append(_candidate(name, sample))
    if not found:
        return []
    found.sort(key=lambda each: -each.familiar)
    close = [each for each in found if each.is_close(found[0])]
    best = min(
        close,
        key=lambda each: (each.name not in _PREFERRED, -round(each.coherence, 1), -each.familiar),
    )
    rank = {name: i for i, name in enumerate(_PREFERRED)}
    same = (each for each in close if not each.differs(best))
    best = min(same, key=lambda each: rank.get(each.name, len(rank)))
    found.sort(key=lambda each: each is not best)
    if not any(each.rivals(best) and each.differs(best) for each in found):
        return [best.name]
    distinct = list[_Candidate]()
    for each in found:
        if each.is_close(best) and all(each.differs(other) for other in distinct):
            distinct.append(each)
    return [each.name for each in distinct]


def _candidate(
    name: str, sample: bytes, chaos: float | None = None, coherence: float = 0.0
) -> _Candidate:
    text = sample.decode(name, "replace")  # characters of long lines may be divided
    if name in _CHINESE_OR_KOREAN:
        text = _KANA.sub("\ufffd", _without_rare(text, name))
    letters = Counter(each for each in text if each > "\x7f" and each.isalpha())
    familiar = _familiarity(text)
    if name.startswith(_JAPANESE) and 10 * len(_KANA.findall(text)) < letters.total():
        familiar /= 2
    return _Candidate(name, letters, chaos, coherence, familiar)


def _decodes(path: str, encoding: str, damaged: float = 0.0) -> bool:
    """Whether an encoding decodes a file, except for its last bytes, which may be half a character.

    Args:
        path: The file.
        encoding: The encoding.
        damaged: The share of bytes beyond ASCII that may be invalid.
    """
    codecs.register_error(_INVALID, _invalid)
    decoder = codecs.getincrementaldecoder(encoding)(_INVALID)
    n_invalid = n_beyond = 0
    with open_binary(Path(path)) as file:
        while block := file.read(_BLOCK):
            n_beyond += len(block.translate(None, _ASCII_BYTES))
            n_invalid += decoder.decode(block).count("\udcff")
            if n_invalid and not damaged:
                return False
    return n_invalid <= damaged * n_beyond


def _without_rare(text: str, encoding: str) -> str:
    """A text with U+FFFD in place of what later extensions added to KS X 1001 and GB 2312."""
    if encoding not in ("cp949", "gb18030"):
        return text
    beyond = (each for each in set(text) if each > "\x7f")
    rare = {ord(each): "\ufffd" for each in beyond if min(each.encode(encoding, "replace")) < 0xA1}
    return text.translate(rare)


def _familiarity(text: str) -> float:
    """The share of characters beyond ASCII that one language uses, or punctuation, in such places.

    Upper-case letters after lower-case ones, quotes within words, letters of other scripts after
    Latin ones, and control characters are in no language.
    """
    total, counts = 0, Counter[str]()
    for (before, each, after), n in Counter(zip(text, text[1:], text[2:], strict=False)).items():
        if each < "\x80":
            continue
        total += _CONTROL_WEIGHT * n if each < "\xa0" or each == _FILLER else n
        latin_before = "a" <= before.lower() <= "z"
        if not each.isalpha():
            is_wrong = latin_before and after.isalpha() and each not in "’·–—\xa0"
        elif each < "\u0250":
            is_wrong = each.isupper() and before.islower()
        else:
            is_wrong = latin_before or "a" <= after.lower() <= "z"
            is_wrong |= each.isupper() and before.islower()
            is_wrong |= each == "ς" and after.isalpha()
        counts[each.lower()[:1]] += 0 if is_wrong else n
    written = sum(n for each, n in counts.items() if _WRITTEN.fullmatch(each))
    known = max(
        sum(n for each, n in counts.items() if letters.fullmatch(each)) for letters in _ALPHABETS
    )
    return (known + written) / total if total else 0.0


def _ambiguous(path: str, sample: bytes, found: Sequence[str]) -> DataError:
    if not found:
        return DataError(
            f"{path} is not UTF-8, and its encoding cannot be detected: specify it, as in "
            "--encoding cp949, or save the file as UTF-8"
        )
    line = next(each for each in sample.split(b"\n") if not each.isascii())
    lines = ((name, line.decode(name, "replace")) for name in found[:_LISTED])
    shown = "; ".join(f"{name} '{shorten(text.strip(), width=_SHOWN)}'" for name, text in lines)
    return DataError(
        f"{path} is not UTF-8, and its encoding is unclear ({shown}): specify the one with the "
        f"right letters, as in --encoding {found[0]}, or save the file as UTF-8"
    )


def _first_line(path: str, encoding: str) -> str:
    """The first line of a file with characters beyond ASCII."""
    with open_utf8(Path(path), encoding) as file:
        for line in _raw_lines(file):
            if not line.isascii():
                text = line.decode("utf-8", "replace").removeprefix("\ufeff")
                if not text.isascii():
                    return shorten(text.strip(), width=_SHOWN)
    return ""
