"""The kind of a file that is not text, detected from its first bytes."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

__all__ = ["FileKind", "image_size", "kind_of"]


class FileKind(NamedTuple):
    """A kind of file, with its name for people, and the media type of an image that models can look at."""

    name: str
    media_type: str | None = None


def kind_of(head: bytes) -> FileKind | None:
    """Return the kind of the file that begins with *head*, or None if it is unknown."""
    return next((kind for pattern, kind in _SIGNATURES if re.match(pattern, head, re.DOTALL)), None)


_SIGNATURES: tuple[tuple[bytes, FileKind], ...] = (
    (rb"\x89PNG\r\n\x1a\n", FileKind("PNG image", "image/png")),
    (rb"\xff\xd8\xff", FileKind("JPEG image", "image/jpeg")),
    (rb"GIF8[79]a", FileKind("GIF image", "image/gif")),
    (rb"RIFF....WEBP", FileKind("WebP image", "image/webp")),
    (rb"BM.{4}\0\0\0\0", FileKind("BMP image")),
    (rb"II\*\0|MM\0\*", FileKind("TIFF image")),
    (rb"\0\0\x01\0", FileKind("icon")),
    (rb".{4}ftypavif", FileKind("AVIF image")),
    (rb".{4}ftyp(?:heic|heix|mif1)", FileKind("HEIF image")),
    (rb"%PDF-", FileKind("PDF document")),
    (rb"\x7fELF", FileKind("program or library (ELF)")),
    (rb"MZ.\0", FileKind("program or library (Windows)")),
    (rb"\xca\xfe\xba\xbe\0\0\0[\x01-\x14]|[\xce\xcf]\xfa\xed\xfe", FileKind("program or library (macOS)")),
    (rb"\xca\xfe\xba\xbe", FileKind("Java class")),
    (rb"\0asm", FileKind("WebAssembly module")),
    (rb"..\r\n.{12}\xe3", FileKind("compiled Python")),
    (rb"SQLite format 3\0", FileKind("SQLite database")),
    (rb"PK(?:\x03\x04|\x05\x06)", FileKind("ZIP archive, or a document in one")),
    (rb"\x1f\x8b", FileKind("gzip archive")),
    (rb"BZh[1-9]1AY&SY", FileKind("bzip2 archive")),
    (rb"\xfd7zXZ\0", FileKind("xz archive")),
    (rb"7z\xbc\xaf\x27\x1c", FileKind("7-Zip archive")),
    (rb"\x28\xb5\x2f\xfd", FileKind("Zstandard archive")),
    (rb"Rar!\x1a\x07", FileKind("RAR archive")),
    (rb".{257}ustar", FileKind("tar archive")),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind("old Office document")),
    (rb"OggS", FileKind("Ogg sound or film")),
    (rb"ID3|\xff[\xf2\xf3\xfb]", FileKind("MP3 sound")),
    (rb"fLaC", FileKind("FLAC sound")),
    (rb"RIFF....WAVE", FileKind("WAV sound")),
    (rb".{4}ftyp", FileKind("MP4 film or sound")),
    (rb"\x1aE\xdf\xa3", FileKind("Matroska or WebM film")),
    (rb"wOF[F2]", FileKind("font (WOFF)")),
    (rb"\0\x01\0\0\0|OTTO", FileKind("font")),
    (rb"\x93NUMPY", FileKind("NumPy array")),
    (rb"PAR1", FileKind("Parquet table")),
)


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG, JPEG, GIF or WebP image, or None if it does not state them or is broken."""
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
