"""Search in Chinese, whose words have no spaces between them.

Text and query are cut in the same way: each two characters that stand side by side are
one term. A segmenter would have to be in the browser too, with its dictionary, or it cuts
a query otherwise than the text and finds nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.search.en import SearchEnglish

HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
RUN = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])\w)+")


class SearchPairs(SearchEnglish):
    """Pairs of Chinese characters, and all else as on an English site.

    ``language_name`` stays, as Sphinx makes the name of the stemmer in the browser of it.
    """

    lang = "zh"
    js_splitter_code = (Path(__file__).parent / "split_query.js").read_text("utf-8")

    def split(self, input: str) -> list[str]:
        """Single characters are terms of the text too, for a query of one."""
        terms: list[str] = []
        for run in RUN.findall(input):
            if re.match(f"[{HAN}]", run):
                terms += [*run, *(run[at : at + 2] for at in range(len(run) - 1))]
            else:
                terms.append(run)
        return terms
