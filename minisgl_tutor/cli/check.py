"""``minisgl-tutor check``: judges the reader's version of one exercise, of several, or of all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, sentence_of, verbatim
from .caller import caller
from .desk import EXERCISE, Desk
from .told import tell

if TYPE_CHECKING:
    from ..exercises.catalogue import Exercise
    from ..exercises.verdict import Verdict


def check(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="EXERCISE", help=EXERCISE, show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that you have begun.")] = False,
    chapter: Annotated[
        str | None, typer.Option(help="Those of this chapter (2, 5 or 5c) that you have begun.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Play the random cases of an earlier check again.", show_default="random"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, as Exercism test runners do.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write all verdicts to this file, as JSON.", show_default=False)
    ] = None,
) -> None:
    """Judge your version of an exercise: exit status 0 right, 1 not yet right, 2 could not be judged."""
    import secrets

    from ..exercises.verdict import Exit

    desk = Desk(caller(context).say)
    exercises = desk.exercises(names or [], everything, chapter)
    if not names:
        exercises = _begun(desk, exercises, quiet=json)
    chosen = secrets.randbelow(1_000_000) if seed is None else seed
    verdicts = [(exercise, judged(desk, exercise, chosen, quiet=json)) for exercise in exercises]
    if json:
        _print_json(verdicts, chosen)
    elif len(verdicts) > 1:
        right = sum(verdict.exit is Exit.RIGHT for _, verdict in verdicts)
        desk.tell(how_many(right, len(verdicts)))
    else:
        _tell_next(desk, *verdicts[0])
    if report is not None:
        _write_report(desk, report, verdicts, chosen, quiet=json)
    raise typer.Exit(max(verdict.exit for _, verdict in verdicts))


def _begun(desk: Desk, exercises: list[Exercise], quiet: bool) -> list[Exercise]:
    """Those with a file of the reader's; ends the program if there is none."""
    from .fail import fail
    from .program import program

    begun = [exercise for exercise in exercises if desk.workspace.file(exercise).is_file()]
    if not begun:
        fail(
            Sentence(
                "none of these has been begun; `{program} start {exercise}` begins the first",
                program=program(),
                exercise=exercises[0].name,
            )
        )
    if len(begun) < len(exercises) and not quiet:
        others = [exercise.name for exercise in exercises if exercise not in begun]
        desk.tell(Sentence("Not begun, and not judged: {names}.", names=", ".join(others)))
    return begun


def judged(desk: Desk, exercise: Exercise, seed: int, quiet: bool) -> Verdict:
    from ..exercises.checker import Place
    from ..exercises.checker import check as judge
    from ..exercises.workspace import shown
    from .program import program

    file = desk.workspace.file(exercise)
    with desk.writing():
        new = desk.workspace.start(exercise)
    if not quiet:
        desk.tell(_begins(new, shown(file)))
    digest = desk.workspace.digest(exercise)
    verdict = judge(exercise, file, seed, Place(desk.workspace.failures, program()), desk.say)
    _note(desk, exercise, verdict, digest)  # first: what is announced as passed is kept, whatever comes then
    if not quiet:
        for line in verdict.lines:
            tell(line)
        for sentence in _after(desk, exercise, verdict):
            desk.tell(sentence)
    return verdict


def how_many(right: int, of: int) -> Sentence:
    return Sentence("{passed} of {of} right.", passed=right, of=of)


def _begins(new: bool, file: str) -> Sentence:
    if new:
        return Sentence(
            "There was no {file}; the starter has been put there, and is judged as it is.", file=file
        )
    return Sentence("{file} is being judged.", file=file)


def _after(desk: Desk, exercise: Exercise, verdict: Verdict) -> list[Sentence]:
    """Where to read on."""
    from ..exercises.verdict import Exit
    from ..exercises.workspace import shown

    if verdict.exit is Exit.NOT_YET:
        return [Sentence("What is asked: {file}", file=shown(desk.text(exercise)))]
    if verdict.exit is Exit.RIGHT:
        solutions, wrong = (shown(exercise.path / folder) for folder in ("solutions", "wrong"))
        return [
            Sentence("Other designs that pass: {folder}", folder=solutions),
            Sentence("Fixes that look right, and what they miss: {folder}", folder=wrong),
        ]
    return []


def _tell_next(desk: Desk, exercise: Exercise, verdict: Verdict) -> None:
    from ..exercises.verdict import Exit
    from .told import tell_next

    if verdict.exit is Exit.NOT_YET:
        typer.echo()
        tell_next({f"hint {exercise.name}": Sentence("helps, three times at most")}, desk.say)
    elif verdict.exit is Exit.RIGHT and (following := desk.next_exercise(exercise)):
        title = verbatim(following.teller(desk.say)("title"))
        typer.echo()
        tell_next({f"start {following.name}": title}, desk.say)


def _note(desk: Desk, exercise: Exercise, verdict: Verdict, digest: str) -> None:
    from ..exercises.verdict import Exit
    from ..exercises.workspace import WorkspaceError

    if verdict.exit is not Exit.RIGHT:
        return
    desk.set_aside_damage()
    try:
        desk.workspace.pass_(exercise, digest)
    except WorkspaceError as error:
        desk.tell(sentence_of(error), err=True)


def _print_json(verdicts: list[tuple[Exercise, Verdict]], seed: int) -> None:
    """One exercise's verdict alone is what a test runner writes; several are in a report."""
    import msgspec

    data = verdicts[0][1].as_json() if len(verdicts) == 1 else _report(verdicts, seed)
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(data)).decode() + "\n")


def _report(verdicts: list[tuple[Exercise, Verdict]], seed: int) -> dict[str, object]:
    exercises = {exercise.key: verdict.as_json() for exercise, verdict in verdicts}
    return {"version": 1, "seed": seed, "exercises": exercises}


def _write_report(
    desk: Desk, file: Path, verdicts: list[tuple[Exercise, Verdict]], seed: int, quiet: bool
) -> None:
    import msgspec

    from ..exercises.workspace import unwritten
    from .fail import fail

    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(_report(verdicts, seed))) + b"\n")
    except OSError as error:
        fail(unwritten(file, error))
    if not quiet:
        desk.tell(Sentence("The report is in {file}.", file=file))
