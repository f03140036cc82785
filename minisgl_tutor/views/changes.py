"""What a step changed in what the components hold, entry by entry, for every view that marks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..trace.steps import Held


@dataclass(frozen=True)
class Change:
    """``component`` held ``before`` for ``uid`` and then ``after``; an empty one is nothing at all."""

    component: str
    uid: int
    before: dict[str, int]
    after: dict[str, int]

    def parts(self) -> Iterator[tuple[str, int | None, int | None]]:
        """What is kept, how much of it there was and how much there is; null: none."""
        for what in dict.fromkeys([*self.before, *self.after]):
            yield what, self.before.get(what), self.after.get(what)


def changes(before: Held, after: Held) -> list[Change]:
    """The entries that differ, by component and uid."""
    if before is after:
        return []
    return [
        Change(component, uid, old.get(uid, {}), new.get(uid, {}))
        for component in sorted(before.keys() | after.keys())
        if (old := before.get(component, {})) != (new := after.get(component, {}))
        for uid in sorted([uid for uid in old.keys() | new.keys() if old.get(uid) != new.get(uid)])
    ]
