"""
Images, sound and documents that providers accept.

Their formats are read from their own bytes. A provider refuses the whole request if a media type is wrong, and some
clients read the file of that name if base64 text happens to be a path.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..content import AudioPart, ImagePart, Part, ResourcePart

__all__ = ["IMAGE_FORMATS", "ResultMedia", "encode_base64", "explain_accepted", "find_media"]

MediaKind: TypeAlias = Literal["image", "audio", "document"]


@dataclass(frozen=True, slots=True)
class MediaFormat:
    """A format of images, sound or documents: what it is called, and the pattern that its files begin with."""

    kind: MediaKind
    label: str
    media_type: str
    signature: bytes


_FORMATS: dict[str, MediaFormat] = {
    "png": MediaFormat("image", "PNG", "image/png", rb"\x89PNG\r\n\x1a\n"),
    "jpeg": MediaFormat("image", "JPEG", "image/jpeg", rb"\xff\xd8\xff"),
    "gif": MediaFormat("image", "GIF", "image/gif", rb"GIF8[79]a"),
    "webp": MediaFormat("image", "WebP", "image/webp", rb"RIFF.{4}WEBP"),
    "wav": MediaFormat("audio", "WAV", "audio/wav", rb"RIFF.{4}WAVE"),
    "mp3": MediaFormat("audio", "MP3", "audio/mpeg", rb"ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]"),
    "flac": MediaFormat("audio", "FLAC", "audio/flac", rb"fLaC"),
    "ogg": MediaFormat("audio", "Ogg", "audio/ogg", rb"OggS"),
    "aac": MediaFormat("audio", "AAC", "audio/aac", rb"\xff[\xf0\xf1\xf8\xf9]"),
    "aiff": MediaFormat("audio", "AIFF", "audio/aiff", rb"FORM.{4}AIF[FC]"),
    "pdf": MediaFormat("document", "PDF", "application/pdf", rb"%PDF-"),
}

IMAGE_FORMATS = frozenset(name for name, media_format in _FORMATS.items() if media_format.kind == "image")
"""The images that every provider accepts."""


@dataclass(frozen=True, slots=True)
class ResultMedia:
    """An image, sound or a document for a model. *name* is its format, such as "png", as its first bytes say."""

    data: bytes
    name: str

    @property
    def kind(self) -> MediaKind:
        return _FORMATS[self.name].kind

    @property
    def media_type(self) -> str:
        return _FORMATS[self.name].media_type

    @property
    def base64(self) -> str:
        return encode_base64(self.data)

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.base64}"


def find_media(part: Part, accepted: Iterable[str]) -> ResultMedia | None:
    """Return the image, sound or document in *part* if its format is one of *accepted*, and otherwise None."""
    kinds: tuple[MediaKind, ...]
    match part:
        case ImagePart(data=data):
            kinds = ("image",)
        case AudioPart(data=data):
            kinds = ("audio",)
        case ResourcePart(content=bytes() as data, media_type=media_type):
            # The first bytes of some audio formats say too little to find audio among bytes of any kind.
            kinds = ("image", "document", "audio") if (media_type or "").startswith("audio/") else ("image", "document")
        case _:
            return None
    for name, media_format in _FORMATS.items():
        if media_format.kind in kinds and re.match(media_format.signature, data, re.DOTALL):
            return ResultMedia(data, name) if name in accepted else None
    return None


def explain_accepted(accepted: Iterable[str], *kinds: MediaKind) -> str:
    """Return which formats of *kinds* are among *accepted*, as in "only WAV and MP3 can"."""
    labels = [_FORMATS[name].label for name in _FORMATS if name in accepted and _FORMATS[name].kind in kinds]
    if not labels:
        return "this provider accepts none"
    return f"only {' and '.join(filter(None, (', '.join(labels[:-1]), labels[-1])))} can"


def encode_base64(data: bytes) -> str:
    """Return *data* as base64 text, the form for JSON."""
    return base64.b64encode(data).decode()
