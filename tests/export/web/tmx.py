"""Units of TMX with inline codes, whose last one has no text."""

SIDES = [
    ('<bpt i="1" x="1"/>Start<ept i="1"/> now', 'jetzt <bpt i="2" x="1"/>Start<ept i="2"/>'),
    ('Of <ph x="2">%s</ph> and <ph x="1">%d</ph>', 'Von <ph x="1"/> und <ph x="2"/>'),
    (
        'One<ph type="lb"/>two<ph>\\n</ph>three<ph>&lt;br/&gt;</ph>',
        'Eins<ph type="x-br"/>zwei<ph/>',
    ),
    ('<hi>Bold <hi type="i">text</hi></hi>', '<hi type="i">Fetter</hi> <hi>Text</hi>'),
    ('<it pos="begin" x="9">&lt;b&gt;</it>Cut <ept i="3"/>', 'Ab <bpt i="4"/> <ut>{x}</ut>'),
    (
        '<bpt i="1">&lt;a t="<sub>tip</sub>"></bpt>Link<ept i="1"/>',
        '<bpt i="1"/>Verweis<ept i="1"/>',
    ),
    ('<bpt i="1"/>a<bpt i="1"/>b<ept i="1"/>c<ept i="1"/>', '<bpt i="1"/>a<ept i="1"/>'),
    ("\n Two  spaces ", "Zwei <!-- a remark --> Abst&#228;nde <![CDATA[<b>]]>"),
    ("A sign \U000f0003", "Ein Zeichen \U000f0003 \U000f4003"),
    ("<ph/>", "<ph/><ph/>"),
    ("", "leer"),
]


def tmx() -> str:
    """A file of the units."""
    units = (
        f'<tu><tuv xml:lang="de"><seg>{source}</seg></tuv>'
        f'<tuv xml:lang="en"><seg>{target}</seg></tuv></tu>'
        for source, target in SIDES
    )
    return f'<tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>'
