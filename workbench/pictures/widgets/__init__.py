"""Live pictures for notebooks, the only part that uses Jupyter widgets: once imported, every stepper is live."""

from ..scene.displays import displays
from ..scene.storyboard import Storyboard
from ..tools.explore import Exploration
from ..views.stepper_picture import Stage
from .live import ExplorationView, Growing, Player
from .stepper import view_of

displays[Stage] = view_of
displays[Storyboard] = Growing
displays[Exploration] = ExplorationView

__all__ = ["Player"]
