"""Values for parameters whose meaning is plain from their names: for a picture of a model that nothing else can build.

They are nobody's, and are marked so wherever they stand.
"""

from __future__ import annotations

import ast
from typing import Any

from modgraph.arguments.constructor import Constructor, constructor_of
from modgraph.source.targets import Target, written

_BY_VALUE: tuple[tuple[Any, str], ...] = (
    (3, "in_channels in_ch in_chans inchannels in_channel input_channels input_channel n_channels num_channels channels"
        " image_channels img_channels nc input_nc output_nc num_input_channels c_in ch_in n_chan"),
    (8, "out_channels out_ch outchannels out_channel output_channels c_out ch_out"),
    (10, "num_classes n_classes nb_classes num_class n_class class_num classes nclass nclasses num_labels n_labels"
         " num_outputs out_features output_dim output_size out_dim dim_out d_out n_out n_outputs n_output"),
    (64, "hidden_size hidden_dim hidden_dims hid_dim hidden hidden_channels n_hidden d_hid hidden_units d_model dim"
         " model_dim embed_dim embedding_dim embed_size emb_dim emb_size embedding_size n_embd d_embed width features"
         " num_features n_features channels_base base_channels size ngf latent_dim z_dim nz input_size input_dim"
         " in_features in_dim dim_in d_in n_in n_inputs n_input feature_dim nhid ninp nfeat nfeats n_feat n_feats"
         " num_feat num_feats in_feats hidden_feats in_nf hidden_nf node_dim num_node_features num_filters"
         " model_channels model_ch mid_channels inner_dim inner_channels ch channel base_dim base_width planes inplanes"
         " n_filters nf ndf n_state state"),
    (1000, "vocab_size n_vocab vocab_len vocab ntoken ntokens num_tokens n_tokens num_embeddings src_vocab_size"
           " tgt_vocab_size trg_vocab_size src_vocab tgt_vocab trg_vocab n_src_vocab n_tgt_vocab n_trg_vocab dict_size"
           " n_users num_users user_num usernum n_items num_items item_num itemnum num_nodes n_nodes"),
    (4, "head num_heads n_heads heads n_head nhead nheads num_head num_attention_heads"
        " attention_heads state_dim state_size action_space"
        " obs_dim action_dim action_size n_actions num_actions"),
    (8, "enc_in dec_in in_size in_len num_variates num_nodes_in"),
    (2, "num_frames n_frames frames n_mlp layer num_layers n_layers n_layer nlayers layers num_layer depth"
        " num_blocks n_blocks num_hidden_layers"
        " num_encoder_layers num_decoder_layers num_res_blocks n_res_blocks res_blocks factor scale_factor upscale"),
    (128, "d_ff ff_dim dim_ff mlp_dim dim_feedforward d_inner ffn_dim intermediate_size hidden_ff max_len max_length"
          " max_seq_len max_seq_length seq_len seq_length sequence_length block_size context_length"
        " context_size n_ctx ctx"
          " context_len max_position_embeddings"),
    (80, "n_mels n_mel num_mels n_mel_channels mel_channels"),
    (24, "out_len pred_len label_len horizon forecast_horizon out_steps"),
    (16, "head_dim dim_head d_k d_v patch_size reduction growth_rate"),
    (224, "resolution image_resolution image_size img_size input_resolution"),
    (0.1, "dropout drop_rate dropout_rate dropout_prob p_drop drop_prob drop dropout_p attn_drop"),
    (0.2, "alpha negative_slope"),
    (0.5, "threshold thresh"),
    (1.0, "temperature"),
    (1e-5, "eps epsilon"),
    ((), "attn_resolutions attention_resolutions"),
    (3, "kernel_size ksize"),
    (1, "stride padding dilation groups max_action action_bound act_limit"),
    (0, "pad_idx padding_idx src_pad_idx trg_pad_idx tgt_pad_idx pad_token_id"),
)  # fmt: skip
ASSUMED: dict[str, Any] = {name: value for value, names in _BY_VALUE for name in names.split()}
"""By the name of a parameter: sizes that fit each other where they meet, and are small."""

_ALONE = frozenset(["size", "alpha", "features", "classes", "drop", "groups", "padding", "hidden", "planes", "ch"])
_COUNTS = ("n", "num", "nb")
"""First words of the names of what is counted."""
_COUNTED = 2
"""Names that mean something else at the end of a longer one."""


def assumed_values(constructor: Constructor, known: frozenset[str] = frozenset()) -> dict[str, Any] | None:
    """A value for each parameter that needs one; None where the name of one says nothing.

    Args:
        known: parameters that have a value already.
    """
    found: dict[str, Any] = {}
    for parameter in constructor.required:
        if parameter.arg in known:
            continue
        value = suggested(parameter)
        if value is None:
            return None
        found[parameter.arg] = value
    return found


_SAMPLES = {"int": 1, "float": 0.1, "bool": True, "str": "..."}
"""By annotation: what such a parameter may be given."""


def example_call(target: Target) -> str | None:
    """A call of a target's class as one could write it: "Net(width=64)"; None where neither the name nor the annotation
    of a parameter says what it may be given."""
    constructor = constructor_of(target)
    found: dict[str, Any] = {}
    for parameter in constructor.required if constructor is not None else ():
        value = suggested(parameter)
        if value is None:
            value = None if parameter.annotation is None else _SAMPLES.get(ast.unparse(parameter.annotation))
        if value is None:
            return None
        found[parameter.arg] = value
    return written(target.name, (), found.items(), called=True) if found else None


def open_call(target: Target) -> str | None:
    """The same with "..." for what neither name nor annotation says: "Net(zork=..., width=64)"; None where it needs
    nothing."""
    constructor = constructor_of(target)
    given = []
    for parameter in constructor.required if constructor is not None else ():
        value = suggested(parameter)
        if value is None and parameter.annotation is not None:
            value = _SAMPLES.get(ast.unparse(parameter.annotation))
        given.append(f"{parameter.arg}={'...' if value is None else repr(value)}")
    return f"{target.name}({', '.join(given)})" if given else None


def ends_of(name: str) -> list[str]:
    """The name and what it ends with, word by word, the longest first: "n_text_layer", "text_layer", "layer"."""
    words = name.lower().split("_")
    return ["_".join(words[start:]) for start in range(len(words))]


def suggested(parameter: ast.arg) -> Any:
    """The value that the name suggests, and the annotation takes; None where there is none.

    What a name begins with says whose it is: `vision_patch_size`, `n_text_layer`.
    """
    words, ends = parameter.arg.lower().split("_"), ends_of(parameter.arg)
    known = [end for number, end in enumerate(ends) if end in ASSUMED and (number == 0 or end not in _ALONE)]
    value = ASSUMED[known[0]] if known else _COUNTED if len(words) > 1 and words[0] in _COUNTS else None
    return None if value is None or not _fits(parameter.annotation, value) else value


def _fits(annotation: ast.expr | None, value: Any) -> bool:
    """The annotation, if there is one, takes a number."""
    if annotation is None:
        return True
    text = ast.unparse(annotation)
    return type(value).__name__ in text or "float" in text or text in ("Any", "Union")
