"""Live pictures for notebooks, the only part that knows of Jupyter's widgets: once imported, every picture is live."""

from ..scene import picture
from .errors import show_errors
from .player import Player

picture.widget_factory = Player

__all__ = ["Player", "show_errors"]
