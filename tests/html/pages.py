"""A page's data, read without a browser."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np


def page_data(page: str) -> dict[str, Any]:
    """The JSON block of a page."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return dict(json.loads(found[0]))


def page_columns(page: str) -> dict[str, list[int]]:
    """What the page's script makes of its columns, in slow Python."""
    data = page_data(page)
    texts = re.findall(r'<script type="text/plain" class="columns">(.*?)<', page)
    blob = zlib.decompress(b"".join(map(base64.b64decode, texts)))
    columns: dict[str, list[int]] = {name: [] for name in data["columns"]}
    names, at = list(columns), 0
    for place, count, planes, signed in data["pieces"]:
        values = np.zeros(count, np.int64)
        for plane in range(planes):
            values |= np.frombuffer(blob, np.uint8, count, at).astype(np.int64) << 8 * plane
            at += count
        if signed:
            values = np.where(values % 2, -(values + 1) // 2, values // 2)
        columns[names[place]] += values.tolist()
    assert at == len(blob)
    for name, entry in data["columns"].items():
        if entry.get("delta"):
            columns[name] = np.cumsum(columns[name]).tolist()
    for name, entry in data["columns"].items():
        if "by" in entry:
            order = np.argsort(columns[entry["by"]])
            columns[name] = np.array(columns[name], np.int64)[order].tolist()
    return columns
