"""`watch()`: statistics of a training of hours, a line in a file for each step that is watched."""

from .watch import show_log as show_log
from .watch import watch as watch
