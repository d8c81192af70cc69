"""Live pictures for notebooks, the only part that knows of Jupyter's widgets: once imported, every stepper is live."""

from .. import live_recording
from ..tools import explore
from ..views import stepper_picture
from .live import ExplorationView, Growing, Player
from .stepper import view_of

stepper_picture.widget_factory = view_of
live_recording.growing_factory = Growing
explore.widget_factory = ExplorationView

__all__ = ["Player"]
