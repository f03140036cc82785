"""The keys, as the screen says them."""

from ..language import Sentence

FOOTER = Sentence(
    """\
← → step  g number  u U this uid  x X gap  t type  n N again  Tab uid  c caller
f fork  z unfork  [ ] scene  PgUp PgDn held state  ? help  q quit"""
)

HELP = Sentence(
    """\
→ Space l ↓ j   the next step          ← h ↑ k   the one before
Home  End       the first, the last    g         the step of a number
u  U            the next, the last one before, about this uid
Tab             of several requests in a step, the next
x  X            the next thing that the auditor found, the one before
t               choose a type of message and go to the next
n  N            the next of that type, the one before
c               the code of the caller, and of its caller
PgDn  PgUp      scroll what is held
f               fork: from this step on, let the run go on otherwise;
                the fork is saved as a recording
z               back to what was before the fork
]  [            the next scene, the one before
?  q            this help; quit

> marks the present step and the line of code that sent it, ! a gap, Y a fork.
+ is held from this step on, - no longer, ~ in another amount.
Esc leaves this help."""
)
