r"""Code-like tokens: the rules that say which parts of a text a translation contains unchanged.

    {name} %1$s $HOME %hours%    a sigil or brackets around or before a name
    user_name std::vector f()    separators or capitals inside a word
    X7B-2203 a3f9c27e            mixed letters and digits
    src/main.c v1.2.3 #tag @anna names of files, versions, hashtags, handles

Ordinary words are not code: B2B, COVID-19, 3D, 2nd, 1990s, 50%, and/or, McDonald, iPhone 15, MP3.
A user can switch off each rule by its name. Of several rules that match at the same place, the
first applies, so a pattern that continues another one stands before it. Every pattern takes linear
time: it begins where no other attempt has read the same characters, or reads a bounded number.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

import regex

from yakusu.data.lines.private_use import MARK_RANGE
from yakusu.data.lines.words import UNSPACED

# What may follow addresses and placeholders without a space: https://example.orgを見て、%s人
_FOREIGN = rf"{UNSPACED}\p{{Hangul}}、。，．！？；：（）「」『』【】《》“”„«»…{MARK_RANGE}"
_LETTER = rf"[^\W{_FOREIGN}]"  # a letter or digit of another script, or an underscore
_START, _END = rf"(?<!{_LETTER})", rf"(?!{_LETTER})"
_IN_PATH = rf"[^\s<>\"`()\[\]{{}}{_FOREIGN}]"
_LAST = rf"[^\s<>\"`'.,;:!?()\[\]{{}}{_FOREIGN}]"  # punctuation after it belongs to the sentence
_BRACKETS = rf"\({_IN_PATH}*\)|\[(?!/){_IN_PATH}*\]|\$?\{{{_IN_PATH}*\}}|\{{\{{{_IN_PATH}*\}}\}}"
_PATH = rf"(?:{_IN_PATH}|{_BRACKETS})*(?:{_LAST}|{_BRACKETS})"
# Of sites without www; no others, which are words: de, in, it, my, no
_DOMAINS = "com|org|net|edu|gov|io|dev|app|info|eu|biz|xyz|cn|cz|fm|fr|jp|kr|nl|pl|ru|tv|tw|uk"
_NAME = r"[\p{L}_][\p{L}\p{N}_]*"
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_FIELD = rf"(?:{_NAME}|[0-9]+)?(?:\.{_NAME}|\[[^\[\]{{}}\s]*\])*+"  # of str.format
# Of ICU, four deep: recursion would take quadratic time.
_BRANCHES = r"[^{}]*+"
for _ in range(4):
    _BRANCHES = rf"(?:[^{{}}]++|\{{{_BRANCHES}\}})*+"
# The end of a link of Markdown
_LINKED = r"\]\((?:[^()\s]{1,2000}+(?:\s\"[^\"\n]{0,200}+\")?|\{[^()\n]{1,200}+)\)"
QUOTED_VALUE = r"=\s*(?:\"[^\"]*+\"|'[^']*+')"  # the value of an attribute

# printf: 50%discount and "20 %ige" are prose, so most directives do not follow a number
_NO_AMOUNT = r"(?<![0-9])(?<!(?<!%L?[0-9]?)[0-9]\s)"  # but %1 %2 are two arguments
_WIDTH = r"[0-9]*+(?:\.[0-9]++)?"
_ANY_WIDTH = r"(?:\*(?:[0-9]+\$)?|[0-9]*+)(?:\.(?:\*(?:[0-9]+\$)?|[0-9]++))?"
_FLAGS = r"(?:[-+\#0,(<]|'[^\s\w]?)*+"
_SIZE = "(?:hh|h|ll|l|q|L|z|t|j|I64|I32)"
_GO_INDEX = r"(?:\[[0-9]{1,2}\]\*?)?(?:\.(?:\[[0-9]{1,2}\]\*?|[0-9]++))?(?:\[[0-9]{1,2}\])?"
_DIRECTIVE = rf"%{_FLAGS}{_ANY_WIDTH}{_SIZE}?[dioufFeEgGxXcs@]"

_EXTENSIONS = (
    "txt|md|mdx|rst|adoc|tex|bib|log|csv|tsv|json5?|jsonl|ya?ml|toml|xml|xsd|xsl|xslt|html?|xhtml|"
    "css|scss|sass|less|m?js|cjs|jsx|tsx?|vue|svelte|py|pyc|pyi|ipynb|rb|rs|go|java|class|jar|war|"
    "kt|swift|cpp|cc|hpp|cs|fs|vb|php|pl|pm|lua|sh|bash|zsh|fish|bat|cmd|ps1|sql|db|sqlite3?|"
    "ini|cfg|conf|config|env|properties|lock|gradle|cmake|mk|po|pot|mo|xliff|xlf|arb|strings|resx|"
    "docx?|xlsx?|pptx?|od[tsp]|pdf|epub|rtf|ps|png|jpe?g|gif|svg|webp|bmp|tiff?|ico|psd|mp[34]|"
    "m4[av]|wav|flac|ogg|webm|mkv|avi|mov|srt|vtt|ass|zip|tar|t?gz|bz2|xz|7z|rar|iso|img|dmg|exe|"
    "dll|dylib|msi|apk|ipa|deb|rpm|bin|dat|bak|tmp|onnx|pt|npz|npy|parquet|safetensors|wasm|woff2?|"
    "ttf|otf|pem|crt|tscn|tres|gd|gdshader|proto|tf|ics|vcf|plist|url|lnk|desktop|service"
)
_PLAIN_NAMES = "|".join(  # of BBCode
    (
        *("url", "img", "quote", "list", "li"),
        *("ul", "ol", "table", "tr", "td", "th", "cell", "center", "left", "right", "fill"),
        *("indent", "justify", "email", "spoiler", "sub", "sup", "strike", "del", "ins", "pre"),
        *("hr", "br", "lb", "rb", "wave", "shake", "rainbow", "tornado", "pulse", "fade"),
        *("youtube", "video", "code", "codeblock", "icode", "kbd", "h[1-6]", r"\*"),
    )
)  # fmt: skip


_CURRENCIES = (
    "USD|EUR|GBP|JPY|CHF|CNY|RMB|KRW|INR|CAD|AUD|NZD|HKD|SGD|SEK|NOK|DKK|PLN|CZK|HUF|RUB|TRY|BRL|"
    "MXN|DEM|FRF|ATS|DM|FF|RM|US|HK|NT|AD|BC|CE|BCE"
)


class CodeRule(NamedTuple):
    """A kind of code-like tokens.

    Attributes:
        name: The name by which a user switches it off, also that of its groups in `code_pattern`.
        signs: A regular expression of the module regex, whose matches begin with one of _SIGNS.
        words: One whose matches begin where a word may begin.
        about: What it finds, for the documentation.
        examples: Tokens that it finds.
        since: The first version of the text rules that has it.
    """

    name: str
    signs: str
    words: str
    about: str
    examples: tuple[str, ...]
    since: int = 1


def _rule(
    name: str, about: str, examples: str, *signs: str, words: Sequence[str] = (), since: int = 1
) -> CodeRule:
    """A rule with several patterns, and examples with two spaces between them."""
    given = tuple(examples.split("  "))
    return CodeRule(name, "|".join(signs), "|".join(words), about, given, since)


CODE_RULES = (
    _rule(
        "tag",
        "tags and comments of HTML, XML and templates, and code between tags",
        '<b>  </b>  <br/>  <0>  <a href="x">  <!-- note -->  <%= x %>  <<name>>  <@U42>  '
        "<code>x = 1</code>",
        # Code with its tags
        r"<(?<kept>(?i:code|kbd|samp|var|script|style))(?:\s[^<>]{0,200}+)?>"
        r"(?:[^<]|<(?!/?(?P=kept)\s*>)){0,2000}+</(?P=kept)\s*>",
        # Numbered tags, and tags with < or > in an attribute
        r"</?[0-9]{1,3}\s?/?>",
        rf"<[A-Za-z](?:{QUOTED_VALUE}|[^<>]){{0,2000}}+>",
        r"<!--(?:[^<-]++|-(?!->)|<(?!!--))*+-->|<[A-Za-z/!?][^<>]*>",
        r"<%(?:[^<%\n]++|%(?!>)|<(?!%))*+%>",
        r"<<[A-Za-z_][\w.-]*+>>|<[@\#:!][^\s<>]++>|<[@\#][a-z]++\s[^<>\n]*+>",
    ),
    _rule(
        "address",
        "addresses of pages, mailboxes and servers",
        "https://example.org/a?b=c  www.example.org  anna@example.org  example.com  "
        "res://icon.svg  localhost:8080",
        rf"(?i:https?|ftps?|file|wss?)://{_PATH}",
        # Of a host whose name is not Latin
        rf"(?i:https?)://(?:[\p{{L}}\p{{N}}-]{{1,63}}\.){{1,9}}[A-Za-z]{{2,}}(?::[0-9]{{1,5}})?"
        rf"(?:/(?:{_PATH})?)?",
        words=(
            rf"(?i:www\.|mailto:){_PATH}",
            rf"(?<![.+-])(?:{_LETTER}|[.+-])++@(?:[A-Za-z0-9-]{{1,63}}\.){{1,99}}[A-Za-z]{{2,}}",
            rf"(?<![.@-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,99}}(?i:{_DOMAINS})(?:/(?:{_PATH})?)?"
            rf"(?!{_LETTER}|-)",
            rf"(?<![.@-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,99}}(?:(?:co|com|ac|org|gov|or|ne)\.[a-z]{{2}}"
            rf"{_END}(?:/(?:{_PATH})?)?|[a-z]{{2,6}}/{_PATH})",
            rf"(?<![.+-])[A-Za-z][A-Za-z0-9.+-]{{1,30}}+://{_PATH}",
            rf"localhost(?::[0-9]{{1,5}})?(?:/(?:{_PATH})?)?{_END}",
        ),
    ),
    _rule(
        "entity",
        "entities",
        "&nbsp;  &#233;",
        r"&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#[xX][0-9A-Fa-f]+);",
    ),
    _rule(
        "code",
        "code between backticks",
        "`make test`",
        # Not `a quotation' and `another one'.
        r"(?<!`)`(?!`)(?:[^`\n]++|``++)*+(?!(?<=[\s(])`\w)`(?!`)",
        r"(?<!`)(?<ticks>`{2,9}+)(?!`)[^\n]+?(?<!`)(?P=ticks)(?!`)",
    ),
    _rule(
        "escape",
        "escape sequences; line breaks and tabs only if no lower-case letter follows",
        r"\n  \r  \t  \u00e9  \x1b",
        r"\\[nrt](?![a-z])",
        r"\\[A-Za-z]{1,2}\[[0-9]{1,4}\]",  # of RPG Maker
        r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|(?:033|e)(?=\[))(?:\[[0-9;]{0,20}m)?",
        r"\x1b\[[0-9;]{0,20}m",  # colours of terminals
    ),
    _rule(
        "template",
        "placeholders of templates: Jinja, Django, Twig, Handlebars, Angular, Vue, Hugo, Ruby, "
        "JavaScript, Mailchimp",
        '{{x}}  {{{html}}}  {{ x | upper }}  {{< ref "a.md" >}}  ${x}  #{x}  %{x}  {% if x %}  '
        "*|NAME|*",
        rf"%%{_IDENTIFIER}%%{_END}",
        r"%%|\$?\{\{\{?[^{}\n]*\}?\}\}|[$\#%]\{[^{}\n]*\}|\{%(?:[^{%\n]++|%(?!\})|\{(?!%))*+%\}",
        r"\{\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}\}|\{\#[^{}\#\n]*+\#\}|[@~]\{[^{}\s<>]++\}",
        r"\{!!(?:[^{}!\n]++|!(?!!\}))*+!!\}",
        r"\*\|[^|\s*][^|\n*]*+\|\*",
    ),
    _rule(
        "field",
        "names, numbers and formats in braces: str.format, .NET, Java, Rust, Fluent, React",
        "{name}  { name }  {0:.2f}  {}  {0,number,#.#}  {first-name}  { $name }  {a.b?.c}  "
        "{n | upper}",
        rf"\{{\s*{_FIELD}\s*(?:![rsa])?(?::(?:[^{{}}\n]|\{{{_FIELD}\}})*|,[^{{}}\n]*)?\}}",
        r"\{(?!')[^{}\s<>]++\}|\{\s*+[$@\#/-][\w$@.][^{}\n]*+\}|\{\s*+\"[^\"{}\n]*+\"\s*+\}",
        rf"\{{\s*+{_NAME}(?:\??\.{_NAME}|-{_NAME}|\[[^\[\]{{}}\s]*+\])*+\s*+[|?+(=&*][^{{}}\n]*+\}}",
    ),
    _rule(
        "icu",
        "plural and select of ICU MessageFormat",
        "{n, plural, one {a dog} other {# dogs}}",
        rf"\{{\s*{_NAME}\s*,\s*(?:plural|select|selectordinal)\s*,"
        rf"{_BRANCHES}\}}",
        rf"\{{\s*[0-9]+\s*,\s*(?:plural|select|selectordinal|choice)\s*,{_BRANCHES}\}}",
    ),
    _rule(
        "variable",
        "variables: shells, PHP, i18next, browser extensions, Drupal, Symfony",
        "$HOME  $user->name  $t(key)  $(HOME)  $NUM$  %HOME%  #name#  ##NAME##  @NAME@  __x__",
        rf"\${_IDENTIFIER}\${_END}|{_START}\$\({_IDENTIFIER}\)",
        rf"\$[A-Za-z_][A-Za-z0-9_]*+(?:\([^()\n]*+\)|(?:->|::|\.(?=[a-z_])){_IDENTIFIER}(?:\(\))?|"
        r"\['?\"?\w++'?\"?\])*+",
        r"%[A-Z][A-Z0-9_]*%",
        rf"{_START}\#\#?[A-Za-z]\w*+(?:[.-]\w++)*+\#\#?|{_START}@{_IDENTIFIER}@{_END}",
        words=(rf"__[A-Za-z0-9]++(?:_[A-Za-z0-9]++)*+__{_END}",),
    ),
    _rule(
        "link",
        "links and literals of vue-i18n",
        "@:key  @.lower:key  {'@'}",
        r"(?:@(?:\.[a-z]+)?:)?\{'(?:[^'{}\n]*|[{}])'\}",
        r"@(?:\.[a-z]+)?:(?:\([\w.]+\)|[A-Za-z_]\w*(?:\.\w+)*)",
    ),
    _rule(
        "printf",
        "directives of printf, NSString, java.util.Formatter, Go, Qt, Boost and Ruby, also glued "
        "to letters",
        "%s  %d  %1$s  %(n)d  %@  %0dm  %dx%d  %.1fMP  %2$,d  %1$tY  %*d  %[1]d  %<n>s  %1  "
        "%n  %L1  %1%",
        rf"%(?:[0-9]+\$)?\#@{_IDENTIFIER}@",
        # Not a per cent sign before a tag: 5 %<b>off</b>
        r"(?<!\d\s?)%[-+\#0]*+[0-9.]*+<[A-Za-z_]\w*+>(?![^\n]{0,100}</)"
        r"(?:[-+\#0]*+[0-9.]*+[A-Za-z](?!\w))?",
        rf"%(?:\([^()\s]+\)|[0-9]+\$)(?:[ (]|{_FLAGS})*?{_ANY_WIDTH}"
        rf"(?:[tT][A-Za-z]{_END}|{_SIZE}[diouxXeEfFgGaAcsSpn]{_END}|[A-Za-z@])",
        rf"%[-+\#0]*+{_WIDTH}[diouxXeEfFgGcrsaSpn@]{_END}",
        rf"{_NO_AMOUNT}{_DIRECTIVE}(?:(?:[A-Za-z]{{1,4}}|_){_DIRECTIVE})++(?:[A-Za-z]{{1,4}}{_END})?+",
        r"(?<![0-9])%[1-9][0-9]?%(?!\w)",
        rf"{_NO_AMOUNT}%(?:{_FLAGS}{_ANY_WIDTH}|[-+\#0]*+{_GO_INDEX}){_SIZE}?[A-Za-z@]{_END}",
        rf"{_NO_AMOUNT}(?=%(?:[-+\#*.,'0]|[0-9]+\.[0-9])){_DIRECTIVE}"
        rf"(?:[A-Za-z]{{1,4}}{_END}|(?=[A-Za-z_]))",
        rf"{_NO_AMOUNT}{_DIRECTIVE}(?=_(?!\w*+%(?!\w))|(?!\p{{Latin}})\p{{L}})",
        rf"{_NO_AMOUNT}%L?[1-9](?![0-9]|[.,][0-9]|['’])",
    ),
    _rule(
        "percent",
        "names after or between percent signs, and a directive with a unit: Symfony, Drupal",
        "%hours%  %site-name%  %name  %ds",
        rf"{_NO_AMOUNT}%{_IDENTIFIER}(?:[.:-]\w++)*+%(?!\w)",
        rf"{_NO_AMOUNT}%[A-Za-z][A-Za-z0-9_]*+(?:-[a-z0-9_]++)*+{_END}",
        since=2,
    ),
    _rule(
        "interpolation",
        "interpolations of Swift",
        r"\(name)  \(n + 1)  \(user.name(at: i))",
        r"\\\([^()\n\\]*+(?:\([^()\n\\]*+\)[^()\n\\]*+){0,9}+\)",
        since=2,
    ),
    _rule(
        "emoji",
        "names of emoji",
        ":smile:  :+1:",
        rf"(?<!{_LETTER}|:):(?:[A-Za-z][A-Za-z0-9_+-]*|[+-]1):(?!{_LETTER}|:)",
    ),
    _rule(
        "emoticon",
        "faces made of signs",
        ":-)  ;)  :D  :'(  ^_^",
        # Not the end of a parenthesis: (et il partit ;)
        r"(?<!\S)(?!(?<=\([^()\n]{0,500})[:;]\))(?:[:;=]['’]?[-o^]?(?:[()\[\]{}|/\\3DPpOo*]++)|\^_*\^)(?!\w|\S{2})",
        since=2,
    ),
    _rule(
        "colon",
        "names with a colon before them, and white space before that: Laravel",
        ":attribute  :max_size",
        r"(?<![^\s(\"'“„«]):[a-z][a-z_]{2,}+(?![\w:=])",
        since=2,
    ),
    _rule(
        "square",
        "references in square brackets",
        "[[x]]  [%key:a::b%]",
        r"\[\[[^\[\]\n]++\]\]|\[%[^\[\]\n]+%\]",
        since=2,
    ),
    _rule(
        "markdown",
        "ends of links and pictures of Markdown, and signs of bold and marked text, in messages",
        "](https://example.org)  ]({url})  **",
        rf"!?\[(?=[^\[\]\n]{{1,500}}+{_LINKED})|{_LINKED}",
        rf"(?<!\*)\*\*(?!\*)(?:(?<!{_LETTER}\*\*)|(?!{_LETTER}))",
        r"(?<!=)==(?![=\s])|(?<![=\s])==(?!=)",
        since=2,
    ),
    _rule(
        "bbcode",
        "tags of BBCode and shortcodes, and code between them",
        '[b]  [/b]  [url=$url]  [color=#fff]  [code]x = 1[/code]  [param x]  [gallery n="3"]',
        r"\[(?<verbatim>(?i:code|codeblock|icode|kbd))(?:[\s=][^\[\]\n]*+)?\]"
        r"(?:[^\[\n]++|\[(?!/?(?P=verbatim)\b))*+\[/(?P=verbatim)\]",
        rf"\[/[A-Za-z][\w-]{{0,30}}\]|\[(?i:{_PLAIN_NAMES})\]",
        r"\[[A-Za-z][\w-]{0,30}+(?:=[^\[\]\n]++|(?:\s++[\w-]{1,30}+="
        r"(?:\"[^\"\n\]]*+\"|'[^'\n\]]*+'|[^\s\[\]\"']++))++)\s*+/?\]",
        r"\[(?:method|member|param|constant|signal|enum|annotation|theme_item|constructor|operator)"
        r"\s[\w.@]++\]",
        # [s]he: one letter that continues a word is a tag only if the pair is closed.
        r"\[(?i:[bius])\](?!\p{Ll})",
        r"(?i:\[(?<opened>[A-Za-z][\w-]{0,20})\](?=(?:(?!\[(?P=opened)\])[^\n]){0,500}?\[/(?P=opened)\]))",
        since=2,
    ),
    _rule(
        "handle",
        "handles, packages and annotations",
        "@anna  @anna_m  @scope/package  @Override",
        rf"(?<!{_LETTER}|[.@/+$%-])@(?![0-9]){_LETTER}++(?:[./-]{_LETTER}++)*+"
        r"(?:@[0-9][\w.-]*+(?<!\.))?+(?!@)",
        since=2,
    ),
    _rule(
        "hashtag",
        "hashtags and colours",
        "#opensource  #東京  #ff8800",
        r"(?<![\w&/\#])\#(?=[0-9]*+[A-Fa-f])(?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})(?!\w)",
        r"(?<![\w&/\#])\#\p{L}\w*+(?:-[0-9]++)*+",
        since=2,
    ),
    _rule(
        "file",
        "names of files and paths",
        r"README.md  src/main.c  *.txt  .env  ./run.sh  ~/notes  /usr/bin/env  C:\Users\x",
        r"\\\\[\w$-]++(?:\\[\w$.-]++)++",
        rf"\*\.(?i:{_EXTENSIONS}){_END}",
        r"(?<![\w./<~])/[\w.+@%${}-]{2,}+(?:/[\w.+@%${}-]*[\w%$}])++/?(?:\?[\w=&%{}+-]++)?",
        r"(?<![\w./<])(?:~|\.\.?)/\.?[\w+@%${}-][\w.+@%${}/-]*(?<![./])",
        rf"(?<![\w.)])\.(?:env|git(?:ignore|attributes|modules)|bash(?:rc|_profile)|profile|zshrc|"
        rf"npmrc|vimrc|htaccess|editorconfig|dockerignore){_END}",
        words=(
            r"[A-Za-z]:\\(?:[^\s\"<>|*?:,;()\\]++(?:[ ][^\s\"<>|*?:,;\\]++){0,2}\\)*+"
            r"(?:[^\s\"<>|*?:,;()\\.]|\\|\.(?=\w))++",
            rf"(?<![./@+~-])(?:(?:{_LETTER}|[+~-])++/)*+(?:(?:{_LETTER}|[+-])++"
            rf"(?:(?:\.(?:{_LETTER}|[+-])++)*?\.(?i:{_EXTENSIONS})|(?<=[\w+-]{{3}})\.[ch]))"
            rf"(?!{_LETTER}|-|[./]\w)",
        ),
        since=2,
    ),
    _rule(
        "identifier",
        "names of programs, with separators, capitals or parentheses",
        "user_name  MAX_SIZE  userName  getElementById  OutOfMemoryError  std::vector  main()  "
        "org.example.widget",
        words=(
            # not German: Lehrer_in
            rf"(?![0-9_]++{_END}|\p{{Lu}}\p{{Ll}}++_in(?:nen)?+{_END})(?=_*+[A-Za-z0-9]++_{{1,2}}+[A-Za-z0-9])"
            rf"[A-Za-z0-9_]++(?:\(\))?{_END}",
            rf"(?<!\.){_IDENTIFIER}(?:(?:\.|::){_IDENTIFIER})*+\(\)",
            rf"{_IDENTIFIER}(?:::~?{_IDENTIFIER})++{_END}",
            rf"[a-z]{{3,}}+[0-9]*+(?:[A-Z][a-z0-9]++)+[A-Z]*+{_END}",
            rf"[a-z]{{3,}}+(?:[A-Z][a-z0-9]++)*+(?:ID|URL|URI|IP|API|HTML|XML|JSON|CSS|UUID|SQL){_END}",
            rf"(?:is|to|on|my|ui|db|id|as|by)(?:[A-Z][a-z0-9]++)+{_END}",
            rf"[A-Z][a-z0-9]++(?:[A-Z][a-z0-9]++){{2,}}+{_END}",
            rf"(?<![.@-])[a-z][a-z0-9]++(?:(?:\.[a-z][a-z0-9]++){{2,}}+|(?:\.[a-z][a-z0-9]++)++"
            rf"\.[A-Z][A-Za-z0-9]++){_END}",
        ),
        since=2,
    ),
    _rule(
        "phone",
        "telephone numbers",
        "+49 (0)30 1234567  +1 (555) 123-4567  +81-3-1234-5678  (030) 123 45 67  555-123-4567",
        r"\(0[0-9]{1,4}\)[ \u00a0/-]?[0-9]{2,8}(?:[ \u00a0/-][0-9]{2,6}){0,4}(?![0-9])",
        r"\([2-9][0-9]{2}\)[ \u00a0-]?[0-9]{3}[ \u00a0.‑-][0-9]{4}(?![0-9])",
        words=(
            rf"\+[1-9](?:[ \u00a0./‑-]?\(?[0-9]\)?){{7,14}}(?![0-9]){_END}",
            r"(?<![0-9.,‑-])(?:[2-9][0-9]{2}[‑-][0-9]{3}|0[0-9]{1,2}[‑-][0-9]{3,4})[‑-][0-9]{4}(?![0-9‑-])",
        ),
        since=2,
    ),
    _rule(
        "account",
        "numbers of bank accounts (IBAN)",
        "GB29 NWBK 6016 1331 9268 19  DE89370400440532013000",
        words=(
            rf"(?=(?:[A-Z \u00a0]{{0,8}}[0-9]){{10}})[A-Z]{{2}}[0-9]{{2}}"
            rf"(?:[ \u00a0]?[0-9A-Z]{{4}}){{3,7}}(?:[ \u00a0]?[0-9A-Z]{{1,3}})?{_END}",
        ),
        since=2,
    ),
    _rule(
        "version",
        "versions, network addresses and timestamps",
        "v1.2.3  2.0.0-rc1  1.4.x  0.9.1  192.168.0.1  00:1A:2B:3C:4D:5E  2001:db8::1  "
        "2024-05-01T09:30:00Z",
        words=(
            rf"[vV][0-9]++(?:\.[0-9]++)++(?:[-+][0-9A-Za-z]++(?:[.-][0-9A-Za-z]++)*+){{0,2}}+{_END}",
            rf"(?<!\.)[0-9]++(?:\.[0-9]++){{2}}+(?:-[0-9A-Za-z]++(?:[.-][0-9A-Za-z]++)*+)?+"
            rf"\+[0-9A-Za-z]++(?:[.-][0-9A-Za-z]++)*+{_END}",
            rf"(?<!\.)[0-9]++(?:\.[0-9]++)++(?:-?(?:alpha|beta|rc|dev|pre|post|snapshot|SNAPSHOT)"
            rf"[.-]?[0-9]*+|[ab][0-9]++|\.x)(?:\+[0-9A-Za-z]++(?:[.-][0-9A-Za-z]++)*+)?{_END}",
            rf"(?<!\.)[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}(?::[0-9]{{1,5}})?(?:/(?:{_PATH})?)?"
            rf"(?!{_LETTER}|\.[0-9])",
            rf"[0-9A-Fa-f]{{2}}(?:[:-][0-9A-Fa-f]{{2}}){{5}}{_END}",
            rf"(?=[a-fA-F:]{{0,39}}+[0-9])(?:[0-9A-Fa-f]{{1,4}}:){{1,7}}(?::[0-9A-Fa-f]{{1,4}}){{1,7}}{_END}",
            # No date has a part 0.
            rf"(?<![.,])(?:0\.[0-9]{{1,3}}\.[0-9]{{1,3}}|[0-9]{{1,3}}\.(?:0\.[0-9]{{1,3}}|"
            rf"[0-9]{{1,3}}\.0))(?!{_LETTER}|[.,][0-9])",
            rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\.[0-9]{{1,9}})?)?"
            rf"(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?{_END}",
        ),
        since=2,
    ),
    _rule(
        "part_number",
        "part numbers, keys and checksums: mixed letters and digits, or capitals and many digits",
        "X7B-2203  WH-1000XM4  RTX4090  SKU-00418  a3f9c27e  0x1F  "
        "123e4567-e89b-12d3-a456-426614174000",
        words=(
            rf"0(?:x[0-9A-Fa-f]++|b[01]++|o[0-7]++){_END}",
            rf"(?<![.,])[0-9]++(?:\.[0-9]++)?[eE](?:[-+][0-9]{{1,3}}|[0-9]{{1,3}}){_END}",
            rf"[0-9A-Fa-f]{{8}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}{_END}",
            rf"(?=[0-9]*+[a-f]++[0-9]++[a-f]++[0-9])[0-9a-f]{{7,64}}{_END}",
            rf"(?<![&.-])(?=[0-9-]*+[A-Za-z])(?![0-9A-Za-z-]*?[a-z]{{3}}|[0-9]{{1,2}}[Hh][0-9]{{2}}{_END})"
            # no ranges and plurals, such as U17-U21, 60W-100W and A-320s
            rf"(?!(?:[A-Z][0-9]{{1,3}}-[A-Z]?[0-9]{{1,3}}|[0-9]++[A-Za-z]{{1,3}}-[0-9]++[A-Za-z]{{1,3}}"
            rf"|[A-Z]++-?[0-9]++[A-Z]?s){_END})"
            # three digits and two changes, or capitals and three digits that are no price or year
            rf"(?:(?=(?:[A-Za-z-]*+[0-9]){{3}})"
            rf"(?=[A-Za-z]++-?[0-9]++-?[A-Za-z]|[0-9]++-?[A-Z]++-?[0-9]|[A-Za-z]++[0-9]++-[0-9])"
            rf"[0-9A-Za-z]++(?:-[0-9A-Za-z]++)*+"
            rf"|(?!(?:{_CURRENCIES})[0-9]|[A-Z]++-?(?:1[5-9]|20)[0-9]{{2}}{_END})"
            rf"(?:[A-Z]{{2,}}+-?[0-9]{{3,}}+|[A-Z]-?[0-9]{{4,}}+)"
            rf"|[A-Z]{{2,}}+(?:-[0-9]++){{2,}}+(?<=[0-9]{{3}})){_END}(?!-\w)",
            # With other hyphens, and in full width
            rf"[A-Z]{{2,}}+[‑–－](?!(?:1[5-9]|20)[0-9]{{2}}{_END})[0-9]{{3,}}+{_END}(?![‑–－]\w)",
            r"[Ａ-Ｚ]{2,}+[－‐-]?[０-９]{2,}+(?![Ａ-Ｚａ-ｚ０-９])",
        ),
        since=2,
    ),
    _rule(
        "option",
        "options of commands",
        "--help  --dry-run  --beam=4",
        rf"(?<![^\s(\[\"'“„«「])--[a-z]{{3,}}+(?!{_LETTER}|[-=]\w)",
        r"(?<![\w-])--[a-z][a-z0-9]*+(?:(?:-[a-z0-9]++)++(?:=[^\s,;\"]++)?|=[^\s,;\"]++)",
        since=2,
    ),
)
RULE_VERSIONS = {rule.name: rule.since for rule in CODE_RULES}

# What the matches of `CodeRule.signs` begin with; the letters are those of http, ftp, file and ws.
_SIGNS = r"(?=[\x1b<&`{$%@:;=^\\\#\[\]!(/.~*\-hHfFwW])"


@cache
def code_pattern(without: Collection[str] = ()) -> "regex.Pattern[str]":
    """An expression of the rules in one; the group that matches has the name of the rule.

    It is compiled when first needed, which takes 0.1 s.

    Args:
        without: The names of rules that do not apply, as a tuple or frozenset.
    """
    rules = [rule for rule in CODE_RULES if rule.name not in without]
    signs = "|".join(f"(?P<{rule.name}>{rule.signs})" for rule in rules if rule.signs)
    words = "|".join(f"(?P<{rule.name}>{rule.words})" for rule in rules if rule.words)
    return regex.compile(rf"{_SIGNS}(?:{signs or '(?!)'})|{_START}(?=[\w.+-])(?:{words or '(?!)'})")


# Every text with a match of `code_pattern` has a match of this one, which is faster: it reads
# further only at characters that are rare in prose.
CODE_HINT = re.compile(
    r"""[\x1b<`{@\\\[_^;=&$%\#:./()A-ZＡ-Ｚ0-9l|*+‑–－-](?:
        (?<=[\x1b<`{@\\\[_^])
        | (?<=[;=])['’o^()\[{}|/\\3DPp*-]
        | (?<=&)[A-Za-z\#]
        | (?<=\$)[A-Za-z_(]
        | (?<=%)(?:%|(?!\W?(?:\s|$)))
        | (?<=\#)[\w\#]
        | (?<=:)(?:[^\s\d]|(?<=[A-Za-z]:)\d)|(?<=\*\|)
        | (?<=\.)(?:[^\W\d]\w|(?<=[^\W\d][^\W\d]\.)\w|[0-9]+\.[0-9])
        | (?<=[0-9]\.)x|(?<=[\w+-][\w+-][\w+-]\.)[ch]|(?<=[wW]\.)\S
        | (?<=/)(?<!\w/)[\w.+@%$}-]
        | (?<=\()(?:\)|0[0-9]|[2-9][0-9]{2}\))|(?<=\]\()|(?<=\*)\*|(?<==)=
        | (?<=\+)[1-9]|(?<=[0-9][‑-])[0-9]{3}|(?<=[A-Z][‑–－])[0-9]{3}|(?<=[Ａ-Ｚ])[－‐０-９-]
        | (?<=[a-z][A-Z])
        | (?<=[A-Za-z][0-9])|(?<=[A-Za-z]-[0-9])|(?<=[0-9])-?[A-Za-z]
        | (?<=-)(?:-[a-z]|[0-9]{4}-[0-9]{4}-)
        | (?<=l)ocalhost
    )""",
    re.VERBOSE,
)
