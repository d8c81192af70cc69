"""Live pictures for notebooks, the only part that knows of Jupyter's widgets: once imported, every stepper is live."""

from .. import living
from ..tools import explore
from ..views import stepping
from .errors import show_errors
from .exploring import ExplorationView
from .growing import Growing
from .player import Player
from .stepper import view_of

stepping.widget_factory = view_of
living.growing_factory = Growing
explore.widget_factory = ExplorationView

__all__ = ["Player", "show_errors"]
