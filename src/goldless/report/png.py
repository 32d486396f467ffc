"""A picture of dots as a PNG file, with the standard library alone."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_DEPTH, _RED_GREEN_BLUE_ALPHA = 8, 6


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return the PNG file of a picture: the same bytes for the same dots, wherever it is made.

    Parameters
    ----------
    pixels : ndarray of shape (height, width, 4)
        Red, green, blue and opacity of every dot, as uint8.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 4 or pixels.dtype != np.uint8 or not pixels.size:
        raise ValueError(f"a picture has the shape (height, width, 4) of uint8, got {pixels.shape} of {pixels.dtype}")
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, _DEPTH, _RED_GREEN_BLUE_ALPHA, 0, 0, 0)
    lines = np.zeros((height, 1 + 4 * width), dtype=np.uint8)  # each line starts with 0: no filter
    lines[:, 1:] = pixels.reshape(height, 4 * width)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + _chunk(b"IEND", b"")
    return _SIGNATURE + body


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
