"""What `import yakusu` offers of compression."""

import yakusu


def test_kmeans1d_is_public_by_itself() -> None:
    assert yakusu.compress.kmeans1d([1.0, 2.0, 9.0], 2).codes.tolist() == [0, 0, 1]
