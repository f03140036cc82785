"""``python -m minisgl_tutor``: the same as the command ``minisgl-tutor``."""

from .cli.main import main

if __name__ == "__main__":
    main()
