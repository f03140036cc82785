"""Recordings of a server's runs: the format, and what writes it while a server serves."""

from .lines import (
    VERSION,
    ArriveLine,
    DisconnectLine,
    Event,
    Header,
    HopLine,
    Line,
    PaceLine,
    Recording,
    RecordingError,
    RequestLine,
    StallLine,
    StepLine,
    SubmitLine,
    TokensLine,
    encode_line,
)
from .read import read_recording

__all__ = [
    "VERSION",
    "ArriveLine",
    "DisconnectLine",
    "Event",
    "Header",
    "HopLine",
    "Line",
    "PaceLine",
    "Recording",
    "RecordingError",
    "RequestLine",
    "StallLine",
    "StepLine",
    "SubmitLine",
    "TokensLine",
    "encode_line",
    "read_recording",
]
