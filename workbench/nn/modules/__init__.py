"""Parts of models (torch.nn.modules)."""

from ...compat.absent import fill as _fill
from ...compat.absent import refusing as _refusing
from . import (
    activation,
    containers,
    convolution,
    decoder,
    folds,
    layers,
    losses,
    module,
    normalization,
    padding,
    resampling,
    rnn,
    similarity,
    transformer,
    utils,
)
from .activation import *
from .containers import *
from .convolution import *
from .decoder import *
from .folds import *
from .layers import *
from .losses import *
from .module import *
from .normalization import *
from .padding import *
from .resampling import *
from .rnn import *
from .shared_arguments import explain as _explain
from .similarity import *
from .transformer import *

__getattr__ = _refusing(__name__)  # refuses absent names by a sentence

__all__ = [
    *activation.__all__,
    *containers.__all__,
    *convolution.__all__,
    *decoder.__all__,
    *folds.__all__,
    *layers.__all__,
    *losses.__all__,
    *module.__all__,
    *normalization.__all__,
    *padding.__all__,
    *resampling.__all__,
    *rnn.__all__,
    *similarity.__all__,
    *transformer.__all__,
]


for _name in __all__:
    _explain(globals()[_name])

for _file in (activation, module, normalization, padding, rnn, transformer, utils):
    _fill(_file)
