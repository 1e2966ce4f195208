"""Names of `yakusu.compress` that are public after `import yakusu`."""

import yakusu


def test_kmeans1d_is_public() -> None:
    assert yakusu.compress.kmeans1d([1.0, 2.0, 9.0], 2).codes.tolist() == [0, 0, 1]
