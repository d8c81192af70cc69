"""What a notebook keeps of a picture, read out of its HTML."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

_STORY = re.compile(r'"([\w+/=]*)"\);</script>$')


def kept_story(html: str) -> dict[str, Any]:
    """The storyboard in the script of `playing`; its packed text has no sign that a page or a script could heed."""
    found = _STORY.search(html)
    assert found, "there is no story in it"
    return json.loads(gzip.decompress(base64.b64decode(found[1], validate=True)))
