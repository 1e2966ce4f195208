"""Modules become one script that does what they do."""

import pytest

from tests.export.web.conftest import Node
from yakusu.errors import ModelError
from yakusu.export.web.modules import one_script, shortened

FILES = {
    "main.js": """
/** Documentation, with * and /. */
import {a as first, twice,
        Thing} from "./a.js";
import table from "./b.js";

// A comment
give([first, twice(2), new Thing().name, table.x, Object.keys(globalThis).includes("a")]);
""",
    "a.js": """
import table from "./b.js";
export const a = table.x + 1;
export function twice(x) { return 2 * x * hidden; }
export class Thing { name = "thing"; }
export async function* later() {}
const hidden = 10;
""",
    "b.js": """
globalThis.runs = (globalThis.runs ?? 0) + 1;
export default {
  x: globalThis.runs,
};
""",
}


def test_modules_run_once_each_after_those_that_they_import(node: Node) -> None:
    assert node(one_script(FILES, "main.js")) == [2, 40, "thing", 1, False]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('import {b} from "./a.js";', "main.js imports b, which a.js does not export"),
        ('import {a} from "./c.js";', "there is no module c.js, which main.js imports"),
        ('import {a} from "./main.js";', "modules import each other: main.js, main.js"),
        ('import * as a from "./a.js";', "main.js has an import or export of another form: import"),
        ("export let a = 1;", "main.js has an import or export of another form: export let"),
    ],
)
def test_what_would_not_be_the_same_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        one_script({"main.js": text, "a.js": "export const a = 1;"}, "main.js")


def test_a_shorter_script_keeps_what_only_looks_like_a_comment() -> None:
    script = '/** One\n * two. */\n  // three\n  x = "/** y */"; // four\n\n  y = 1;\n'
    assert shortened(script) == 'x = "/** y */"; // four\ny = 1;'
