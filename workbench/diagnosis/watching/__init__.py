"""`watch()`: statistics of a long training run, one line in a file per watched step."""

from .watch import show_log as show_log
from .watch import watch as watch
