"""``trace --step``: a screen on which a reader goes through a play, and lets it go on otherwise."""
