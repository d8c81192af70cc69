"""GIF and MP4: every step as a picture with its caption, on a canvas of one size."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from .matplotlib_drawing import CAPTION_COLUMN, CAPTION_PAD, captioned_width, raster
from .metric import cut, plain
from .storyboard import Storyboard
from .theme import Theme, theme_named

STEP_MS = 900  # how long a step is shown
LAST_MS = 2700  # and the last, before a GIF begins again
_SCALE = 1.5  # pixels to the px
_MOST_FILMED = 4000  # pixels of the longer side: as many as common players show
_MOST_ROWS = 4  # of a caption
_PATIENCE = 2  # seconds before a progress bar shows up


def to_gif(storyboard: Storyboard, theme: str | Theme = "light") -> bytes:
    """Return the steps as a GIF that plays in a loop."""
    from PIL import Image

    images = (Image.open(BytesIO(frame)).convert("RGB").quantize(128) for frame in _frames(storyboard, theme, ".gif"))
    first, film = next(images), BytesIO()
    shown = [STEP_MS] * (max(1, len(storyboard.stops)) - 1) + [LAST_MS]
    first.save(film, "GIF", save_all=True, append_images=images, duration=shown, loop=0)
    return film.getvalue()


def to_mp4(storyboard: Storyboard, theme: str | Theme = "light") -> bytes:
    """Return the steps as an MP4, made with ffmpeg."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise RuntimeError(
            "Saving an .mp4 needs the program ffmpeg, which is not on the PATH. Install it "
            "(https://ffmpeg.org/download.html), or save the picture as a .gif, which needs nothing more."
        )
    # The size of a video is even in both directions; the last step is held, for a player goes black after it.
    even = f"pad=ceil(iw/2)*2:ceil(ih/2)*2:0:0:{theme_named(theme).colors['canvas']}"
    held = f"tpad=stop_mode=clone:stop_duration={(LAST_MS - STEP_MS) / 1000}"
    given = ["-f", "image2pipe", "-c:v", "png", "-framerate", f"1000/{STEP_MS}", "-i", "-"]
    wanted = ["-vf", f"{even},fps=20,{held}", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        film = Path(folder, "film.mp4")
        command = [program, "-loglevel", "error", "-y", *given, *wanted, str(film)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said)
        try:
            # If it gives up, it says why, and how far the frames came does not matter.
            with suppress(BrokenPipeError), process.stdin as pipe:  # pyright: ignore[reportOptionalContextManager]
                for frame in _frames(storyboard, theme, ".mp4"):
                    pipe.write(frame)
            process.wait()
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
            raise RuntimeError(f"ffmpeg could not make the .mp4: {words[-1]}")
        return film.read_bytes()


def _frames(storyboard: Storyboard, theme: str | Theme, what: str) -> Iterator[bytes]:
    """Return the picture after each step as a PNG with caption, all of one size; long work shows a progress bar."""
    from tqdm import tqdm

    if sys.platform == "emscripten":
        tqdm.monitor_interval = 0  # no thread can start to watch the bar, which would be warned of

    theme, layout = theme_named(theme), storyboard.layout
    captions = _captions(storyboard)
    rows = max(map(len, captions), default=0)
    scale = min(_SCALE * theme.scale, _MOST_FILMED / max(captioned_width(layout.width), layout.height))
    ends = [end for _, end, _ in storyboard.stops] or [-1]
    shots = list(zip(ends, captions or [[]], strict=True))
    for k, caption in tqdm(shots, desc=f"Drawing the {what}", unit=" steps", delay=_PATIENCE, leave=False):
        yield raster(storyboard, k, theme, scale, caption, rows)


def _captions(storyboard: Storyboard) -> list[list[str]]:
    room = int((captioned_width(storyboard.layout.width) - 2 * CAPTION_PAD) // CAPTION_COLUMN)
    stops = storyboard.stops
    captions: list[list[str]] = []
    for number, (_, end, caption) in enumerate(stops, 1):
        when = ", ".join(filter(None, [storyboard.chapter(end), storyboard.steps[end].phase]))
        said = plain(f"{number} / {len(stops)}  {when}: {caption}")
        lines = textwrap.wrap(said, room, max_lines=_MOST_ROWS, placeholder=" …")
        captions.append([cut(line, room) for line in lines])
    return captions
