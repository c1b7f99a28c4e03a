"""Names of torch's compiled functions and of methods of Tensor, by what they give.

Of those up to `FUNCTIONAL` no more is known than that. A name that gets a rule of its own is taken out here, as a
function and as a method. Those of `OF_ONE` to `WRITING_INTO_A_COPY` have one rule for all of a list, in
`knowledge/shapes/`.
"""

from __future__ import annotations

FUNCTIONS = """
    adaptive_avg_pool1d adaptive_max_pool1d addbmm affine_grid_generator alias_copy angle
    argwhere as_strided_copy as_strided_scatter avg_pool1d batch_norm bilinear
    binary_cross_entropy_with_logits bincount binomial bitwise_not ccol_indices_copy celu channel_shuffle
    cholesky_inverse cholesky_solve col_indices_copy combinations constant_pad_nd
    convolution corrcoef cosine_embedding_loss cov crow_indices_copy ctc_loss
    cudnn_convolution cumulative_trapezoid dequantize detach_copy diag_embed diagflat diagonal_copy dist
     embedding embedding_bag empty_permuted expand_copy fake_quantize_per_channel_affine
    fake_quantize_per_tensor_affine fill float_power frobenius_norm
    from_file frombuffer grid_sampler_2d grid_sampler_3d group_norm gru_cell hash_tensor hinge_embedding_loss
    hspmm indices_copy instance_norm int_repr isin istft kl_div layer_norm logical_not
    lu_solve margin_ranking_loss max_pool1d max_pool2d max_pool3d miopen_convolution
    mkldnn_convolution mvlgamma nanmean nanquantile narrow_copy native_channel_shuffle native_norm
    nonzero_static nuclear_norm orgqr ormqr permute_copy pixel_shuffle
    pixel_unshuffle poisson poisson_nll_loss polygamma prelu quantile quantize_per_channel
    quantize_per_tensor rms_norm rnn_relu_cell rnn_tanh_cell
    row_indices_copy rrelu rsub saddmm segment_reduce select_copy selu slice_copy slice_inverse smm
    sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor
    sparse_csr_tensor squeeze_copy sspaddmm t_copy take_along_dim threshold trace transpose_copy trapezoid trapz
    triplet_margin_loss unfold_copy unsqueeze_copy values_copy vander view_as_complex_copy view_as_real_copy
    view_copy
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of `torch` that give a tensor."""

SEVERAL = """
        gru histogramdd lstm lstm_cell lu lu_unpack max_pool1d_with_indices
    native_batch_norm native_dropout native_group_norm rnn_relu rnn_tanh split_copy
    split_with_sizes_copy triangular_solve unbind_copy
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of `torch` that give several tensors, or one of several kinds of answers."""

SEVERAL_METHODS = """
     eig lstsq lu symeig triangular_solve
""".split()  # noqa: SIM905 a long table reads better as text
"""Methods of Tensor that do."""

ASKING = """
    can_cast get_device is_conj is_distributed is_neg is_nonzero is_same_size is_signed
    q_per_channel_axis q_scale q_zero_point
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of `torch` that say something of a tensor, and change nothing."""

METHODS = """
    addbmm angle argwhere atan2 bernoulli bincount bitwise_not ccol_indices cdouble cfloat chalf
    cholesky_inverse cholesky_solve coalesce col_indices corrcoef cov crow_indices dequantize
    diag_embed diagflat dist fliplr flipud float_power ger hash_tensor hypot index indices int_repr
    ipu istft lu_solve mtia mvlgamma nanmean nanquantile
    narrow_copy nonzero_static orgqr ormqr polygamma prelu quantile resize resize_as
    row_indices slice_inverse smm solve sparse_mask sspaddmm take_along_dim to_dense to_mkldnn
    to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr trace
    values xpu
""".split()  # noqa: SIM905 a long table reads better as text
"""Methods of Tensor that give a tensor."""

IN_PLACE = """
    absolute_ acos_ acosh_ addcdiv_ addcmul_ addmm_ addmv_ addr_ apply_ arccos_ arccosh_ arcsin_ arcsinh_ arctan2_
    arctan_ arctanh_ asin_ asinh_ atan2_ atan_ atanh_ baddbmm_ bitwise_left_shift_ bitwise_not_ bitwise_or_
    bitwise_right_shift_ bitwise_xor_ clip_ conj_physical_ copysign_ cosh_ cumprod_ cumsum_ deg2rad_ digamma_
    divide_ erf_ erfc_ exp2_ expm1_ fix_ float_power_ floor_divide_ fmod_ frac_ gcd_ ge_ greater_ greater_equal_
    gt_ heaviside_ hypot_ i0_ igamma_ igammac_ index_reduce_ lcm_ ldexp_ le_ less_ less_equal_ lgamma_ log10_
    log1p_ log2_ logical_and_ logical_or_ logical_xor_ logit_ lt_ map2_ map_ masked_scatter_ multiply_ mvlgamma_
    nan_to_num_ ne_ negative_ nextafter_ not_equal_ polygamma_ put_ rad2deg_ reciprocal_ remainder_ rsqrt_
    scatter_reduce_ sgn_ sign_ sinc_ sinh_ square_ subtract_ tan_ true_divide_ trunc_ xlogy_
""".split()  # noqa: SIM905 a long table reads better as text
"""Methods that change a tensor and give it back; some change its shape."""

IN_PLACE_FUNCTIONS = """
    abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_
    atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ dropout_
    embedding_renorm_ erf_ erfc_ exp2_ exp_ expm1_ feature_alpha_dropout_ feature_dropout_ fill_ fix_ floor_ frac_
    gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_
    relu_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ xlogy_
    zero_
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of `torch` that do."""

OTHER_METHODS = """
     as_strided_scatter const_data_ptr data_ptr dense_dim dim_order element_size get_device
    is_coalesced is_conj is_distributed is_neg is_nonzero is_same_size is_set_to
    is_signed module_load new_empty_strided q_per_channel_axis q_per_channel_scales
    q_per_channel_zero_points q_scale q_zero_point qscheme record_stream register_post_accumulate_grad_hook
    reinforce sparse_dim storage storage_offset storage_type stride untyped_storage
""".split()  # noqa: SIM905 a long table reads better as text
"""Methods that give something else."""

PROPERTIES = """
    grad_dtype is_mkldnn is_nested is_quantized is_sparse is_sparse_csr
    itemsize layout name nbytes output_nr retains_grad volatile
""".split()  # noqa: SIM905 a long table reads better as text
"""Properties of Tensor."""

SAME_SHAPE = """
    alpha_dropout batch_norm celu celu_ dropout dropout1d dropout2d dropout3d elu elu_ feature_alpha_dropout
    gelu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_ instance_norm
    leaky_relu leaky_relu_ local_response_norm log_softmax logsigmoid mish normalize prelu relu relu6 relu_
    rrelu rrelu_ selu selu_ sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink
    threshold threshold_ channel_shuffle native_channel_shuffle
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of `torch.nn.functional` that keep the shape of their first argument."""

FUNCTIONAL = """
    scaled_grouped_mm scaled_mm
""".split()  # noqa: SIM905 a long table reads better as text
"""The other functions of `torch.nn.functional`."""

OF_ONE = """
    acosh arccos arccosh arcsin arcsinh arctan arctanh asinh atanh digamma erfc exp2 fix frac i0
    lgamma logit negative sgn sinc hardshrink absolute logcumsumexp msort
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of one tensor that give one of its shape."""

SAYING_OF_ONE = """
    isneginf isposinf isreal signbit
""".split()  # noqa: SIM905 a long table reads better as text
"""Those that say something of each element."""

OF_TWO = """
    arctan2 copysign fmax fmin gcd lcm heaviside igamma igammac ldexp logaddexp logaddexp2 nextafter xlogy
    bitwise_left_shift bitwise_right_shift
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of two tensors or numbers that broadcast."""

SAYING_OF_TWO = """
    greater greater_equal less less_equal not_equal isclose
""".split()  # noqa: SIM905 a long table reads better as text
"""Those that say something of each pair of elements."""

OF_THREE = """
    addcdiv addcmul
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions of three tensors that broadcast."""

WRITING_INTO_A_COPY = """
    index_copy index_reduce put scatter_add scatter_reduce slice_scatter select_scatter
    diagonal_scatter index_put
""".split()  # noqa: SIM905 a long table reads better as text
"""Functions that write into a copy of their first argument."""
