"""Recurrent nets, attention, experts, and ways in which layers are joined."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .notation import lin, pattern


def steps():
    return (torch.rand(3, 2, 4),)


@pattern("lstm b", "input:x -> lstm -> b -> output:0", args=steps, parts={"lstm": lambda: nn.LSTM(4, 4)})
def lstm(self, x):
    out, _ = self.lstm(x)
    return self.b(out)


@pattern(
    "lstm b",
    "input:x -> lstm -> b -> add -> output:0\nlstm -> sum -> add",
    args=steps,
    parts={"lstm": lambda: nn.LSTM(4, 4, 2)},
)
def lstm_with_its_state_used(self, x):
    out, (h, _) = self.lstm(x)
    return self.b(out) + h.sum(0)


@pattern(
    "gru b",
    "zeros -> gru\ninput:x -> gru -> b -> output:0",
    args=steps,
    parts={"gru": lambda: nn.GRU(4, 2, bidirectional=True)},
)
def gru_given_a_state(self, x):
    return self.b(self.gru(x, torch.zeros(2, 2, 2))[0])


@pattern(
    "cell cell cell",
    """input:x -> unbind -> cell, cell#2, cell#3
    zeros -> cell
    cell, cell -> cell#2
    cell#2, cell#2 -> cell#3 -> output:0""",
    args=steps,
    parts={"cell": lambda: nn.LSTMCell(4, 4)},
)
def lstm_cell_loop(self, x):
    """Both parts of the state go from step to step; at first they are one tensor."""
    h = c = torch.zeros(2, 4)
    for step in x:
        h, c = self.cell(step, (h, c))
    return h


@pattern(
    "a a",
    """zeros -> add
    input:x -> __getitem__ -> add -> tanh -> a
    input:x -> __getitem__#2 -> add#2 -> tanh#2 -> a#2 -> stack -> output:0
    a -> add#2
    a -> stack""",
    args=steps,
)
def recurrence_by_hand(self, x):
    h, out = torch.zeros(2, 4), []
    for t in range(2):
        h = self.a(torch.tanh(h + x[t]))
        out.append(h)
    return torch.stack(out)


@pattern(
    "mha b",
    "input:x, input:x, input:x -> mha -> b -> output:0",
    args=steps,
    parts={"mha": lambda: nn.MultiheadAttention(4, 2)},
)
def multihead_attention(self, x):
    """Query, key and value are three arguments."""
    return self.b(self.mha(x, x, x)[0])


@pattern(
    "b a mha",
    "input:x -> a -> mha -> output:0\ninput:x -> b -> mha\nb -> mha -> output:1",
    args=steps,
    parts={"mha": lambda: nn.MultiheadAttention(4, 2)},
)
def cross_attention(self, x):
    memory = self.b(x)
    return self.mha(self.a(x), memory, memory)


@pattern(
    "qkv o",
    """input:x -> qkv -> chunk
    chunk -> matmul -> softmax -> matmul#2 -> o -> output:0
    chunk -> transpose -> matmul
    chunk -> matmul#2""",
    args=lambda: (torch.rand(1, 3, 4),),
    parts={"qkv": lambda: nn.Linear(4, 12), "o": lin},
)
def attention_by_hand(self, x):
    q, k, v = self.qkv(x).chunk(3, -1)
    return self.o((q @ k.transpose(-2, -1)).softmax(-1) @ v)


@pattern(
    "qkv o",
    "input:x -> qkv -> unflatten -> unbind\nunbind, unbind, unbind -> scaled_dot_product_attention -> o -> output:0",
    args=lambda: (torch.rand(1, 3, 4),),
    parts={"qkv": lambda: nn.Linear(4, 12), "o": lin},
)
def attention_in_one_function(self, x):
    q, k, v = self.qkv(x).unflatten(-1, (3, 4)).unbind(-2)
    return self.o(F.scaled_dot_product_attention(q, k, v))


@pattern("a b", "input:x -> a, b -> einsum -> output:0")
def einsum(self, x):
    return torch.einsum("ij,ij->i", self.a(x), self.b(x))


@pattern("a", "input:x -> a -> chunk\nchunk, chunk -> einsum -> cat\nchunk -> cat -> output:0")
def chunk_einsum_cat(self, x):
    left, right = self.a(x).chunk(2, dim=-1)
    return torch.cat([left, torch.einsum("ij,ij->ij", left, right)], -1)


@pattern("a b", "input:x -> a -> add -> b -> add#2 -> output:0\ninput:x -> add -> add#2")
def residual_stack(self, x):
    x = x + self.a(x)
    return x + self.b(x)


STACKED = "\n".join(
    f"{before} -> layers.{i} -> {after}\n{before} -> {after}"
    for i in range(20)
    for before, after in [
        ("input:x" if i == 0 else "add" if i == 1 else f"add#{i}", "add" if i == 0 else f"add#{i + 1}")
    ]
)


@pattern(
    " ".join(f"layers.{i}" for i in range(20)),
    f"{STACKED}\nadd#20 -> output:0",
    parts={"layers": lambda: nn.ModuleList(lin() for _ in range(20))},
)
def residual_stack_of_twenty(self, x):
    """Each layer is joined to the next only, not to all behind it."""
    for layer in self.layers:
        x = x + layer(x)
    return x


@pattern(
    "a b c",
    "input:x -> a -> cat -> b -> cat#2 -> c -> output:0\ninput:x -> cat -> cat#2",
    parts={"b": lambda: nn.Linear(8, 4), "c": lambda: nn.Linear(12, 4)},
)
def dense_connections(self, x):
    x = torch.cat([x, self.a(x)], -1)
    return self.c(torch.cat([x, self.b(x)], -1))


@pattern(
    "down inner up out",
    "input:x -> down -> inner -> up -> cat -> out -> output:0\ninput:x -> cat",
    args=lambda: (torch.rand(1, 2, 4, 4),),
    parts={
        "down": lambda: nn.MaxPool2d(2),
        "inner": lambda: nn.Conv2d(2, 2, 3, padding=1),
        "up": lambda: nn.Upsample(scale_factor=2),
        "out": lambda: nn.Conv2d(4, 1, 1),
    },
)
def skip_over_a_scale(self, x):
    return self.out(torch.cat([x, self.up(self.inner(self.down(x)))], 1))


@pattern(
    "pool unpool",
    "input:x -> pool -> unpool -> output:0\npool -> unpool",
    args=lambda: (torch.rand(1, 1, 4, 4),),
    parts={"pool": lambda: nn.MaxPool2d(2, return_indices=True), "unpool": lambda: nn.MaxUnpool2d(2)},
)
def indices_handed_on(self, x):
    """Values and indices: two tensors."""
    return self.unpool(*self.pool(x))


@pattern("a b", "input:x -> a -> mean -> b -> sigmoid -> mul -> output:0\na -> mul")
def squeeze_and_excitation(self, x):
    y = self.a(x)
    return y * self.b(y.mean(0, keepdim=True)).sigmoid()


@pattern(
    "a a",
    "input:x -> a -> cosine_similarity -> output:0\ninput:y -> a#2 -> cosine_similarity",
    args=lambda: (torch.rand(2, 4), torch.rand(2, 4)),
)
def siamese(self, x, y):
    return F.cosine_similarity(self.a(x), self.a(y))


def experts():
    return nn.ModuleList([lin(), lin()])


@pattern(
    "gate experts.0",
    """input:x -> gate -> mul -> argmax -> __eq__ -> any
    argmax -> __eq__#2 -> any#2
    input:x, __eq__ -> __getitem__ -> experts.0 -> __setitem__ -> output:0
    zeros_like, __eq__ -> __setitem__""",
    parts={"gate": lambda: nn.Linear(4, 2), "experts": experts},
    gaps="bool bool",
    fake="which experts are called depends on values",
)
def experts_chosen_by_masks(self, x):
    choice = (self.gate(x) * 0).argmax(-1)
    out = torch.zeros_like(x)
    for number, expert in enumerate(self.experts):
        chosen = choice == number
        if chosen.any():
            out[chosen] = expert(x[chosen])
    return out


@pattern(
    "gate experts.0 experts.1",
    """input:x -> gate -> softmax -> __getitem__ -> mul
    input:x -> experts.0, experts.1 -> stack -> mul -> sum -> output:0""",
    parts={"gate": lambda: nn.Linear(4, 2), "experts": experts},
)
def experts_weighted_softly(self, x):
    weights = self.gate(x).softmax(-1)
    results = torch.stack([expert(x) for expert in self.experts], -1)
    return (results * weights[:, None]).sum(-1)


@pattern(
    "gate experts.0 experts.1",
    """input:x -> gate -> topk -> __eq__ -> to -> mul -> add -> add#2 -> output:0
    topk -> __eq__#2 -> to#2 -> mul#2 -> add#2
    input:x -> experts.0 -> mul
    input:x -> experts.1 -> mul#2
    zeros_like -> add""",
    parts={"gate": lambda: nn.Linear(4, 2), "experts": experts},
)
def experts_chosen_without_reading_values(self, x):
    _, chosen = self.gate(x).topk(1)
    out = torch.zeros_like(x)
    for number, expert in enumerate(self.experts):
        out = out + expert(x) * (chosen == number).to(x.dtype)
    return out


@pattern(
    """embed layer(layer.self_attn layer.dropout1 layer.norm1
    layer.linear1 layer.dropout layer.linear2 layer.dropout2 layer.norm2) head""",
    """input:ids -> embed -> add
    embed, embed, embed -> layer.self_attn -> layer.dropout1 -> add -> layer.norm1 -> add#2
    layer.norm1 -> layer.linear1 -> relu -> layer.dropout -> layer.linear2 -> layer.dropout2 -> add#2
    add#2 -> layer.norm2 -> head -> output:0
    transpose -> multi_head_attention_forward -> transpose#2""",
    args=lambda: (torch.tensor([[1, 2, 3]]),),
    parts={
        "embed": lambda: nn.Embedding(6, 4),
        "layer": lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
        "head": lambda: nn.Linear(4, 6),
    },
)
def transformer_encoder_layer(self, ids):
    return self.head(self.layer(self.embed(ids)))
