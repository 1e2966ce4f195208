"""Attention of a model as data (`maps`), pictures (`draw`) and statistics (`statistics`)."""

from yakusu.view.draw import page, picture
from yakusu.view.maps import AttentionMaps, Axis, Token, attention_maps
from yakusu.view.statistics import HeadStatistics, Statistics, head_statistics

__all__ = [
    "AttentionMaps",
    "Axis",
    "HeadStatistics",
    "Statistics",
    "Token",
    "attention_maps",
    "head_statistics",
    "page",
    "picture",
]
