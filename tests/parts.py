"""Strategies for audio and resource parts, and the beginnings of real files."""

from __future__ import annotations

from hypothesis import strategies as st

from toolkit import AudioPart, ResourcePart

__all__ = ["AUDIO_FILES", "AUDIO_PARTS", "PDF", "RESOURCE_PARTS"]

PDF = b"%PDF-1.7\n"
AUDIO_FILES = {
    "wav": b"RIFF\x24\0\0\0WAVEfmt ",
    "mp3": b"ID3\x04\0\0",
    "flac": b"fLaC\0\0",
    "ogg": b"OggS\0\2",
    "aac": b"\xff\xf1\x50\x80",
    "aiff": b"FORM\0\0\0\x2eAIFF",
}

_DATA = st.sampled_from([*AUDIO_FILES.values(), PDF, b"\x89PNG\r\n\x1a\nx"]) | st.binary(max_size=20)
_URIS = st.sampled_from(["memo:1", "file:///notes.txt", "https://example.com/a?b=c"]) | st.from_regex(
    r"[a-z]{2,6}://[a-zA-Z0-9/%._~-]{0,10}", fullmatch=True
)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_MEDIA_TYPES = st.sampled_from(["text/plain", "audio/wav", "image/png", "application/pdf", "text/html; charset=utf-8"])

AUDIO_PARTS = st.builds(AudioPart, _DATA, st.sampled_from(["audio/wav", "audio/mpeg", "audio/L16;rate=24000"]))
RESOURCE_PARTS = st.builds(ResourcePart, _URIS, st.none() | _TEXTS | _DATA, st.none() | _MEDIA_TYPES)
