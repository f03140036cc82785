#!/usr/bin/env python3
"""Write what `trace --json` prints of every scene of the chapters, as the tests hold it against the next run.

    .venv/bin/python scripts/write_goldens.py

One file a scene, in `tests/views/golden`. Numbers of code lines are left out: they move with every edit.
To be run when a change to the steps is meant; what it changed is then in the diff.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from minisgl_tutor.gaps import resolve
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import stream
from minisgl_tutor.trace.scenes import Scene, chapters, scenes_of, title_of
from minisgl_tutor.views.json_lines import write_closing, write_opening, write_step

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "views" / "golden"


def golden_file(scene: Scene) -> Path:
    return GOLDEN / f"{scene.chapter:02d}-{scene.name}.jsonl"


def golden(scene: Scene) -> str:
    recording = read_recording(scene.path)
    gaps, out = resolve(["reference"]), io.BytesIO()
    write_opening(out, title_of(recording, scene.path), gaps, recording.header)
    result = stream(recording, load_tokenizer(model_dir()), gaps, lambda step: write_step(out, step))
    write_closing(out, result)
    return re.sub(r'"line":\d+,', "", out.getvalue().decode())


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    scenes = [scene for chapter in chapters() for scene in scenes_of(chapter)]
    for scene in scenes:
        golden_file(scene).write_text(golden(scene), encoding="utf-8")
    for stale in set(GOLDEN.glob("*.jsonl")) - {golden_file(scene) for scene in scenes}:
        stale.unlink()
    print(f"{len(scenes)} scenes in {GOLDEN}")


if __name__ == "__main__":
    main()
