"""Functions that change a built module; what they register is told by the prediction's knowledge, not here."""

from torch.nn.utils import parametrizations as parametrizations
from torch.nn.utils import parametrize as parametrize
from torch.nn.utils import rnn as rnn
from torch.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from torch.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from torch.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from torch.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from torch.nn.utils.init import skip_init as skip_init
from torch.nn.utils.spectral_norm import remove_spectral_norm as remove_spectral_norm
from torch.nn.utils.spectral_norm import spectral_norm as spectral_norm
from torch.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
from torch.nn.utils.weight_norm import weight_norm as weight_norm
