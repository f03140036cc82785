"""Sphinx's settings, for both languages; ``scripts/build_site.py`` says which it is."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "minisgl-tutor"
author = "The minisgl-tutor authors"
extensions = ["myst_parser", "tutor_site.extension"]
templates_path = ["_templates"]
locale_dirs = [str(Path(__file__).with_name("locale"))]
exclude_patterns: list[str] = []

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
highlight_language = "text"
smartquotes = False
# Pygments does not read a quotation that goes on in the next line of a terminal; it is shown all the same.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {"top_of_page_buttons": ["view"]}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
