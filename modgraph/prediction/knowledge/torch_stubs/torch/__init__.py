"""torch as far as constructors of its layers need it; read by the prediction where torch's source is not on the path."""

from torch import nn as nn
