"""Makes the documentation site of the Markdown that a checkout has; ``scripts/build_site.py`` runs it."""
