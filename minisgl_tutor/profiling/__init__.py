"""Where a scheduler's time goes: what it does when, as a trace that Perfetto opens, and in sum."""
