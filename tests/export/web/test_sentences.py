"""Sentences in JavaScript: the same as sentencex makes in Python."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest
import sentencex

from tests.cases import THOROUGH, examples
from yakusu.export.web import sentences
from yakusu.export.web.sentences import sentence_rules

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs node")

WEB = Path(sentences.__file__).parent
PRINT = """
const lines = require("fs").readFileSync(0, "utf8");
console.log(JSON.stringify(JSON.parse(lines).map(([code, text]) => segmentSentences(code, text))));
"""
RULES = json.loads((WEB / "sentences.json").read_text(encoding="utf-8"))
CODES = [*RULES["languages"], *("cs", "zh", "zh-hant", "sr", "de-at", "oc", "no", "xx", "toString")]
CORPORA = ("tatoeba", "bible", "enja", "koen", "wmt", "iwslt14", "multi30k")

LINES = [  # of sentences for each rule
    ("en", "The train is late. We wait."),
    ("en", "It left at 7 p.m. Tom stayed. In the evening at 8 p.m. Tom left. 5 ft. 6 in. is tall."),
    ("en", "She has a Ph.D. The others have a B.A. Come in. Sit down. It weighs 6 lb. It is "
           "3 in. Tom."),
    ("en", "On Jan. 5, at 6 a.m. Peter rose. “On Monday” at 5 a.m. Mary rose. See the U.S. "
           "They left."),
    ("en", "J. R. R. Smith met Albert I. The king. George W . Hill came; plan B. Then C. Go."),
    ("en", "Wait ... no. Wait... What? ... I'm late . . . Then ! ! Go ! . . . Yes !? no! No."),
    ("en", "Yahoo! is a name. Yum! Really ! is this? e.g. this, etc. However, w.e.f. The rest."),
    ("en", 'He said "It rains." Then he left. "No!" she said. "Yes." "Why?" (It rained. '
           'Much.) Then.'),
    ("en", "'It is mine.' Tom's dogs' bone. ' Padded. ' Then 'more. Words' and ''two. "
           "Marks''. It's."),
    ("en", "``Old. Marks'' here. `One. Mark' there. We left.' Then. It is so.'' So. He "
           "said. ' , then"),
    ("en", "'Hello there. All of you.'\n' Bye now. Bye. '\nThe end.' Orphan. “Never closed. "
           "Never."),
    ("en", "It is known.[1] [2] So it is. [3] 7.Bg5 is a move. x.y.Z [4 is open. Mail "
           "a.b@c.org. Thanks."),
    ("en", "1. One. Two\n2. Three. Four\n3. Five"),
    ("en", "Choose a) This one. b) That one. c.) None. (1) x • One. • Two. ii) And iii) "
           "More. iv.) Go"),
    ("en", "i.) One thing.\nii.) Another. Thing.\n\n* A. B\n* C. D\n\n- a\n\n(a) Single. Item"),
    ("en", "From\ne. e. cummings. With love.\r\nA "
           "line.\r\n\r\nAnother\n\r\nparagraph.\n\n\nLast.\n\n"),
    ("en", "Zero\u200b.\u200bWidth. Fe\ufeff. \ufeffNext.\u2028Line.\u0085Next. "
           "\x0bTab.\x1cEnd. \u00adSoft."),
    ("en", "𝐀𝐁. 𝐂𝐃! 😀. 😀 Then 𐩖 that '𝐀. 𝐁' and 𝐀'𝐁. ﬁ. ß. İ. ſ."),
    ("de", "Am 3. Januar regnete es. Am 4. ſeptember. Dr. Maier kam, z.B. heute. Das war’s. Ja?"),
    ("de", "„Es regnet. Ja.“ Das sagte er. »Nein. Nie!« Sagte sie. Sie kam 3. mal und ging."),
    ("fr", "M. Dupont arrive. « Bonjour. Ça va ? » dit-il. Il part ! C. est là. Fin."),
    ("es", "El Sr. García vino. ¿Quién? ¡Nadie! Dijo: «No. Nunca». Fin."),
    ("ca", "El Sr. Puig ve. «no. Sí». Fi, i tot. , més."),
    ("it", "Vedi l'art. Ecco. L'ing. Rossi arriva. Il sig. Bianchi. l'Yahoo! Bene. Poi / "
           "ecco .  Qui."),
    ("nl", "Dhr. Jansen komt a.s. maandag. Mooi! Ik ga. d.w.z. Nu."),
    ("pt", "O Sr. Silva. Século XX. Depois. D. João VI. Rei. Ok?"),
    ("pl", "Dr Nowak i prof. Kowalski. Itd. Tak! Nie."),
    ("sk", "Prišiel 3. Mája. A odišiel 4. mája. Karol IV. Kráľ. Bol tu napr. Ján. ſeptember."),
    ("cs", "Karel IV. Král. Bylo to 5. Máj. Ne."),
    ("fi", "Se oli 3. tammikuuta. Tammikuu. Näin on. esim. Tämä."),
    ("da", "Hr. Hansen kom d. 3. maj. (og gik). Ja! «nej»."),
    ("ru", "Он жил в г. Москва. а потом уехал. Т.е. нет? «Да. Нет». Вот."),
    ("uk", "Він жив у м. Київ. їхав далі. Ґанок. ґанок. Так!"),
    ("bg", "Това е ул. Шипка. Да. т.н. не."),
    ("kk", "Ол б.з.д. 5 ғ. өмір. (сүрді). Иә. . а. . Т. . Жоқ. ә"),
    ("el", "Ποιος είναι; Εγώ. «Ναι. Όχι». κ. Παπάς. ΑΣ. Τέλος;;"),
    ("hy", "Սա է։ Դա՜ լավ: Այո; Mr. Ոչ."),
    ("my", "ဒါက။ ဟုတ်၏ မဟုတ်။ ok."),
    ("hi", "यह है। वह है॥ डॉ. राम आए? हाँ."),
    ("mr", "हे आहे. डॉ. राम आले. हो!"),
    ("bn", "এটা। ওটা? ডা. রহমান। Mr. X."),
    ("ta", "அ. கா. ராமன் வந்தார். Mr. X. Then. சரி."),
    ("te", "ఇది. డా. రావు. సరి!"),
    ("kn", "ಇದು. ಡಾ. ರಾವ್. ಸರಿ!"),
    ("ml", "ഇത്. ഡോ. രാജൻ. ശരി!"),
    ("gu", "આ છે. ડૉ. રામ. હા!"),
    ("pa", "ਇਹ ਹੈ। ਡਾ. ਰਾਮ। ਹਾਂ!"),
    ("am", "ይህ ነው። ያ ነው፧ ዓ.ም. አዎ፨"),
    ("ar", "هذا. د. أحمد؟ نعم! ص.ب. هنا۔ و"),
    ("ja", "雨です。そう？「はい。いいえ。」と言った。《本。》次。OK.次"),
    ("zh", "下雨了。是吗？“是的。不。”他说。「好。」！？（一。二。）《书。》。完．"),
    ("xx", "Mr. Unknown. Language."),
    ("", "No. Code. \n\n \n\n"),
    ("en", ""),
    ("en", "."),
    ("en", "\n\n"),
]  # fmt: skip
SIGNS = ".!?。！？…\"'»«()[] \n\u00a0aA1é中あ"
PIECES = [
    *(". ", ". The ", "! ", "? ", "…", " . . .", "Mr.", "U.S.", " p.m.", " 5 ft.", "'", "' ", " '"),
    *("``", "''", '"', "„", "“", "”", "»", "«", "(", ")", "[1]", "a) ", "B) ", "ii) ", "\n1. "),
    *("\n", "\n\n", "\r\n", "\n\r\n", "• ", "* ", "- ", "a@b.com", "@", "\u00a0", "\u2028"),
    *(
        "\u200b",
        "𝐀",
        "é",
        "ß",
        "中",
        "。",
        ";",
        ":",
        "word",
        "Word",
        " ",
        ",",
        "/",
        "l'",
        "Mai",
        "в ",
    ),
]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script that divides the texts that it reads by all rules."""
    path = tmp_path_factory.mktemp("web") / "sentences.js"
    return _write_script(path, (WEB / "sentences.json").read_text(encoding="utf-8"))


def _write_script(path: Path, rules: str) -> Path:
    own = (WEB / "sentences.js").read_text(encoding="utf-8")
    path.write_text(
        f'"use strict"; const SENTENCE_RULES = {rules};\n{own}{PRINT}', encoding="utf-8"
    )
    return path


def _divide(script: Path, cases: Sequence[tuple[str, str]]) -> list[list[str]]:
    command = ["node", str(script)]
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, encoding="utf-8", check=True
    )
    made: list[list[str]] = json.loads(done.stdout)
    return made


def _expected(code: str, text: str) -> list[str] | None:
    """The sentences of sentencex; None if it fails, for example before "A\u00a0."."""
    try:
        return list(sentencex.segment(code, text))
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


def _assert_equal(script: Path, cases: Sequence[tuple[str, str]]) -> None:
    made = _divide(script, cases)
    for case, own in zip(cases, made, strict=True):
        expected = _expected(*case)
        assert own == expected or (expected is None and "".join(own) == case[1]), case


def test_lines_in_many_languages(script: Path) -> None:
    _assert_equal(script, LINES)


def test_every_line_by_the_rules_of_every_language(script: Path) -> None:
    _assert_equal(script, [(code, text) for code in CODES for _, text in LINES])


def test_every_code_that_has_the_rules_of_another_language(script: Path) -> None:
    _assert_equal(script, [(code, text) for code in RULES["codes"] for _, text in LINES[::7]])


@pytest.mark.parametrize("code", ["en", "de", "fr", "ja", "zh", "hi"])
def test_random_signs(script: Path, code: str) -> None:
    rng = random.Random(code)
    texts = ["".join(rng.choices(SIGNS, k=rng.randint(1, 40))) for _ in range(examples(20_000))]
    _assert_equal(script, [(code, text) for text in texts])


def test_random_pieces_in_every_language(script: Path) -> None:
    rng = random.Random(1)
    lengths = [3, 8, 20, 60, 300]
    texts = ["".join(rng.choices(PIECES, k=rng.choice(lengths))) for _ in range(examples(6_000))]
    _assert_equal(script, [(rng.choice(CODES), text) for text in texts])


def test_long_texts_lose_the_same_empty_lines(script: Path) -> None:
    rng = random.Random(2)
    paragraphs = ["x", "", "One. Two é中.", "Word. " * 100, "é" * 6000]
    gaps = ["\n\n", "\n\r\n", "\n\n\n", "\n"]
    texts = [
        "".join(rng.choice(paragraphs) + rng.choice(gaps) for _ in range(rng.randint(1, 60)))
        for _ in range(100)
    ]
    edges = ["x" * n + end for n in range(10237, 10243) for end in ("", "\n\n", "\n\nx", "é\n\n")]
    _assert_equal(script, [("en", text) for text in [*texts, *edges]])


def test_long_texts_without_closing_marks_take_linear_time(script: Path) -> None:
    """None of these would end in the time of a test if it took quadratic time."""
    signs = ("« ", "<", "`", "a", "a@", "x' ", ". ", "(a. ", "a\n", "a) B\n", "! ", "「")
    cases = [("en", sign * 40_000) for sign in signs]
    assert ["".join(own) for own in _divide(script, cases)] == [text for _, text in cases]


def test_selected_rules_divide_like_all(tmp_path: Path) -> None:
    codes = ("cs", "de", "zh", "xx", "pt")
    rules = sentence_rules(codes)
    assert set(rules["languages"]) == {"sk", "de", "en", "pt"} and rules["codes"] == {"cs": "sk"}
    assert set(rules["lists"]) == {"sk", "roman", "de", "en", "pt"}
    script = _write_script(tmp_path / "sentences.js", json.dumps(rules))
    _assert_equal(script, [(code, text) for code in (*codes, "en") for _, text in LINES])


def test_rules_are_those_of_the_pinned_release() -> None:
    constraints = (Path(__file__).parents[3] / "constraints.txt").read_text()
    assert f"\n{sentence_rules([])['source'].replace(' ', '==')}\n" in constraints


def _corpora(folder: Path) -> Iterator[tuple[str, str]]:
    """Lines with their language, from all files in turn."""
    files = [path for name in CORPORA for path in sorted((folder / name).rglob("*.*"))]
    own = [lines for path in files if (lines := _lines(path))]
    for turn in range(max(map(len, own), default=0)):
        yield from (lines[turn] for lines in own if turn < len(lines))


def _lines(path: Path) -> list[tuple[str, str]]:
    code = path.suffix[1:]
    if code in ("de", "en", "fr", "ja", "ko"):
        return [(code, line) for line in path.read_text(encoding="utf-8").split("\n")]
    if code != "tsv":
        return []
    head, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").split("\n"))
    return [pair for row in rows for pair in zip(head[1:], row[1:], strict=False)]


@pytest.mark.data
@pytest.mark.skipif("YAKUSU_DATA" not in os.environ, reason="YAKUSU_DATA is not set")
def test_lines_of_corpora(script: Path) -> None:
    cases = _corpora(Path(os.environ["YAKUSU_DATA"]))
    left = 300_000 if THOROUGH else 2_000
    while left and (chunk := list(islice(cases, min(left, 20_000)))):
        _assert_equal(script, chunk)
        left -= len(chunk)
