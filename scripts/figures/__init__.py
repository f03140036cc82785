"""The figures of the chapters: one module a figure, each drawn from a run and from nothing else."""
