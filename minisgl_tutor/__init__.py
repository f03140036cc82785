"""minisgl-tutor: a small LLM server that can be taken apart and stepped through."""

__version__ = "0.1.0"
