"""
The kind of a file that is not text, detected from its first bytes.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

__all__ = ["Kind", "image_size", "kind_of"]


class Kind(NamedTuple):
    """
    A kind of file.

    Attributes:
        name: The name for people.
        media_type: The media type of an image that models can look at; None for every other kind.
    """

    name: str
    media_type: str | None = None


def kind_of(head: bytes) -> Kind | None:
    """Return the kind of the file that begins with *head*, or None if it is unknown."""
    return next((kind for pattern, kind in _SIGNATURES if re.match(pattern, head, re.DOTALL)), None)


_SIGNATURES: tuple[tuple[bytes, Kind], ...] = (
    (rb"\x89PNG\r\n\x1a\n", Kind("PNG image", "image/png")),
    (rb"\xff\xd8\xff", Kind("JPEG image", "image/jpeg")),
    (rb"GIF8[79]a", Kind("GIF image", "image/gif")),
    (rb"RIFF....WEBP", Kind("WebP image", "image/webp")),
    (rb"BM.{4}\0\0\0\0", Kind("BMP image")),
    (rb"II\*\0|MM\0\*", Kind("TIFF image")),
    (rb"\0\0\x01\0", Kind("icon")),
    (rb".{4}ftypavif", Kind("AVIF image")),
    (rb".{4}ftyp(?:heic|heix|mif1)", Kind("HEIF image")),
    (rb"%PDF-", Kind("PDF document")),
    (rb"\x7fELF", Kind("program or library (ELF)")),
    (rb"MZ.\0", Kind("program or library (Windows)")),
    (rb"\xca\xfe\xba\xbe\0\0\0[\x01-\x14]|[\xce\xcf]\xfa\xed\xfe", Kind("program or library (macOS)")),
    (rb"\xca\xfe\xba\xbe", Kind("Java class")),
    (rb"\0asm", Kind("WebAssembly module")),
    (rb"..\r\n.{12}\xe3", Kind("compiled Python")),
    (rb"SQLite format 3\0", Kind("SQLite database")),
    (rb"PK(?:\x03\x04|\x05\x06)", Kind("ZIP archive, or a document in one")),
    (rb"\x1f\x8b", Kind("gzip archive")),
    (rb"BZh[1-9]1AY&SY", Kind("bzip2 archive")),
    (rb"\xfd7zXZ\0", Kind("xz archive")),
    (rb"7z\xbc\xaf\x27\x1c", Kind("7-Zip archive")),
    (rb"\x28\xb5\x2f\xfd", Kind("Zstandard archive")),
    (rb"Rar!\x1a\x07", Kind("RAR archive")),
    (rb".{257}ustar", Kind("tar archive")),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind("old Office document")),
    (rb"OggS", Kind("Ogg sound or film")),
    (rb"ID3|\xff[\xf2\xf3\xfb]", Kind("MP3 sound")),
    (rb"fLaC", Kind("FLAC sound")),
    (rb"RIFF....WAVE", Kind("WAV sound")),
    (rb".{4}ftyp", Kind("MP4 film or sound")),
    (rb"\x1aE\xdf\xa3", Kind("Matroska or WebM film")),
    (rb"wOF[F2]", Kind("font (WOFF)")),
    (rb"\0\x01\0\0\0|OTTO", Kind("font")),
    (rb"\x93NUMPY", Kind("NumPy array")),
    (rb"PAR1", Kind("Parquet table")),
)


def image_size(data: bytes) -> tuple[int, int] | None:
    """
    Return the width and height of a PNG, JPEG, GIF or WebP image.

    Return None if the image does not state them or is broken.
    """
    try:
        if data.startswith(b"\x89PNG"):
            return struct.unpack_from(">II", data, 16)
        if data.startswith(b"GIF8"):
            return struct.unpack_from("<HH", data, 6)
        return _webp_size(data) if data.startswith(b"RIFF") else _jpeg_size(data)
    except struct.error:  # the data ends too early
        return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if form == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        low, high, low_down, high_down = struct.unpack_from("<HBHB", data, 24)
        return (high << 16 | low) + 1, (high_down << 16 | low_down) + 1
    return None


# The JPEG frames that state a size. The other markers in the range are tables.
_JPEG_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data[at : at + 1] == b"\xff":
        marker, length = struct.unpack_from(">xBH", data, at)
        if marker in _JPEG_FRAME_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + length
    return None
