"""torch.special: functions of each element, under names of their own, and what they share with torch.

Source: the reference of each function of torch.special.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import KnownFunction, Value
from modgraph.prediction.knowledge.shapes.elementwise import spread

_OF_ONE = """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e
    i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri
    psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0
""".split()  # noqa: SIM905 a long table reads better as text
_OF_TWO = """
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w gammainc gammaincc
    hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w xlog1py xlogy zeta
""".split()  # noqa: SIM905 a long table reads better as text
_OF_TORCH = ("log_softmax", "logsumexp", "softmax")


@models(*(f"torch.special.{name}" for name in (*_OF_ONE, "multigammaln")))
def of_one(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input",), None)


@models(*(f"torch.special.{name}" for name in _OF_TWO))
def of_two(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("input", "other"), None)


@models("torch.special.polygamma")
def polygamma(arguments: Arguments, machine: Machine) -> Value:
    return spread(arguments, machine, ("n", "input"), None)


@models(*(f"torch.special.{name}" for name in _OF_TORCH))
def as_in_torch(arguments: Arguments, machine: Machine) -> Value:
    function = KnownFunction(f"torch.{last_name(arguments.function)}")
    return machine.call(function, arguments.positional, arguments.keywords)
