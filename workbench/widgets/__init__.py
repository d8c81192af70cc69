"""Live pictures for notebooks, the only part that knows of Jupyter's widgets: once imported, every picture is live."""

from .. import living
from ..scene import picture
from ..views import stepping
from .errors import show_errors
from .growing import Growing
from .player import Player
from .stepper import bundle

picture.widget_factory = Player
stepping.widget_factory = bundle
living.growing_factory = Growing

__all__ = ["Player", "show_errors"]
