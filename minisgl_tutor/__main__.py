"""The program, as ``minisgl-tutor`` and as ``python -m minisgl_tutor``."""

import sys


def run() -> None:
    """Ctrl+C while the program is still being loaded ends it as quietly as later."""
    try:
        from .cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
