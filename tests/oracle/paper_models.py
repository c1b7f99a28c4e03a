"""Small models of the forms that papers show, in five groups, for `paper_pictures.py`.

Each is written here in a few lines and has the widths of the known architecture that it stands for. `MODELS` names them
all, with those of `samples/` and of torchvision that are drawn beside them. Nothing is allocated: they are built on
`meta` and run on fake tensors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


def ints(*sizes: int) -> torch.Tensor:
    return torch.zeros(*sizes, dtype=torch.int64)


def image(size: int = 224) -> torch.Tensor:
    return torch.zeros(1, 3, size, size)


def conv_norm(
    into: int, out: int, kernel: int = 3, stride: int = 1, groups: int = 1, act: bool = True
) -> nn.Sequential:
    conv = nn.Conv2d(into, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out), *([nn.ReLU()] if act else []))


# --- convolutional -------------------------------------------------------------------------------------------------


class AlexNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(),
            nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(),
            nn.Linear(4096, 1000),
        )  # fmt: skip

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


class VGG16(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        into = 3
        for out, times in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(times):
                layers += [nn.Conv2d(into, out, 3, padding=1), nn.ReLU()]
                into = out
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(
            nn.Linear(25088, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)
        )

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


class Fire(nn.Module):
    def __init__(self, into: int, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(into, squeeze, 1)
        self.expand1 = nn.Conv2d(squeeze, expand, 1)
        self.expand3 = nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2), Fire(64, 16, 64), Fire(128, 16, 64),
            nn.MaxPool2d(3, 2), Fire(128, 32, 128), Fire(256, 32, 128), nn.MaxPool2d(3, 2), Fire(256, 48, 192),
            Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
        )  # fmt: skip
        self.head = nn.Conv2d(512, 1000, 1)

    def forward(self, x):
        return self.head(self.features(x)).mean((2, 3))


class InvertedResidual(nn.Module):
    def __init__(self, into: int, out: int, stride: int, expand: int) -> None:
        super().__init__()
        inner = into * expand
        self.skip = stride == 1 and into == out
        layers = [conv_norm(into, inner, 1)] if expand != 1 else []
        self.conv = nn.Sequential(
            *layers, conv_norm(inner, inner, 3, stride, groups=inner), conv_norm(inner, out, 1, act=False)
        )

    def forward(self, x):
        return x + self.conv(x) if self.skip else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        blocks, into = [conv_norm(3, 32, 3, 2)], 32
        for expand, out, times, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
        ):  # fmt: skip
            for number in range(times):
                blocks.append(InvertedResidual(into, out, stride if number == 0 else 1, expand))
                into = out
        self.features = nn.Sequential(*blocks, conv_norm(320, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class SqueezeExcite(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(width, width // 16, 1), nn.Conv2d(width // 16, width, 1)

    def forward(self, x):
        return x * torch.sigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))))


class SEBottleneck(nn.Module):
    def __init__(self, into: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = conv_norm(into, width, 1), conv_norm(width, width, 3, stride, groups=32)
        self.conv3, self.se = conv_norm(width, width * 2, 1, act=False), SqueezeExcite(width * 2)
        changed = stride != 1 or into != width * 2
        self.shortcut = conv_norm(into, width * 2, 1, stride, act=False) if changed else nn.Identity()

    def forward(self, x):
        return F.relu(self.se(self.conv3(self.conv2(self.conv1(x)))) + self.shortcut(x))


class SEResNeXt50(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1))
        into = 64
        for stage, (width, times) in enumerate(((128, 3), (256, 4), (512, 6), (1024, 3)), 1):
            blocks = []
            for number in range(times):
                blocks.append(SEBottleneck(into, width, 2 if number == 0 and stage > 1 else 1))
                into = width * 2
            setattr(self, f"layer{stage}", nn.Sequential(*blocks))
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(x)))))
        return self.fc(x.mean((2, 3)))


class Branches(nn.Module):
    def __init__(self, into: int, a: int, b: tuple[int, int], c: tuple[int, int], d: int) -> None:
        super().__init__()
        self.branch1 = conv_norm(into, a, 1)
        self.branch2 = nn.Sequential(conv_norm(into, b[0], 1), conv_norm(b[0], b[1], 3))
        self.branch3 = nn.Sequential(conv_norm(into, c[0], 1), conv_norm(c[0], c[1], 5))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv_norm(into, d, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class SmallInception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 192, 7, 4), nn.MaxPool2d(3, 2, 1))
        self.a = Branches(192, 64, (96, 128), (16, 32), 32)
        self.b = Branches(256, 128, (128, 192), (32, 96), 64)
        self.fc = nn.Linear(480, 1000)

    def forward(self, x):
        return self.fc(self.b(self.a(self.stem(x))).mean((2, 3)))


class ConvNeXtBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dwconv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.pwconv1, self.act, self.pwconv2 = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.ones(width))
        self.drop_path = nn.Identity()

    def forward(self, x):
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.pwconv2(self.act(self.pwconv1(y)))
        return x + self.drop_path(y.permute(0, 3, 1, 2))


class ConvNeXt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths, depths = (96, 192, 384, 768), (3, 3, 9, 3)
        self.downsample_layers = nn.ModuleList(
            [nn.Conv2d(3, 96, 4, 4), *(nn.Conv2d(a, b, 2, 2) for a, b in itertools.pairwise(widths))]
        )
        self.stages = nn.ModuleList(
            nn.Sequential(*(ConvNeXtBlock(width) for _ in range(depth)))
            for width, depth in zip(widths, depths, strict=True)
        )
        self.norm, self.head = nn.LayerNorm(768, eps=1e-6), nn.Linear(768, 1000)

    def forward(self, x):
        for down, stage in zip(self.downsample_layers, self.stages, strict=True):
            x = stage(down(x))
        return self.head(self.norm(x.mean((2, 3))))


# --- transformers and decoders -------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, cross: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.v_proj, self.out_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(0.0)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(context)), self.split(self.v_proj(context))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + mask
        y = self.dropout(scores.softmax(-1)) @ v
        return self.out_proj(y.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.fc1, self.act, self.fc2, self.drop = (
            nn.Linear(width, inner),
            nn.GELU(),
            nn.Linear(inner, width),
            nn.Dropout(),
        )

    def forward(self, x):
        return self.drop(self.fc2(self.act(self.fc1(x))))


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention, self.mlp = Attention(width, heads), MLP(width, 4 * width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask=mask))
        return self.norm2(x + self.mlp(x))


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word, self.position, self.kind = nn.Embedding(30522, 768), nn.Embedding(512, 768), nn.Embedding(2, 768)
        self.norm, self.dropout = nn.LayerNorm(768, eps=1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(BertLayer(768, 12) for _ in range(12))
        self.pooler = nn.Linear(768, 768)

    def forward(self, input_ids, token_type_ids, attention_mask):
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.word(input_ids) + self.position(places) + self.kind(token_type_ids)
        x = self.dropout(self.norm(x))
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -1e4
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class CachedAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, past):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1))
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.c_proj(y.transpose(1, 2).flatten(2)), (k, v)


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), CachedAttention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), MLP(width, 4 * width)

    def forward(self, x, past):
        y, present = self.attn(self.ln_1(x), past)
        x = x + y
        return x + self.mlp(self.ln_2(x)), present


class GPT2Cache(nn.Module):
    """A decoder that is given a cache and gives it back: 24 tensors in, 24 out."""

    def __init__(self, layers: int = 12) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.h = nn.ModuleList(GPTBlock(768, 12) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(768), nn.Linear(768, 50257, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, input_ids, past_key_values):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1], device=input_ids.device))
        presents = []
        for block, past in zip(self.h, past_key_values, strict=True):
            x, present = block(x, past)
            presents.append(present)
        return {"logits": self.lm_head(self.ln_f(x)), "past_key_values": presents}


def cache(layers: int, heads: int = 12, width: int = 64) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(torch.zeros(1, heads, 8, width), torch.zeros(1, heads, 8, width)) for _ in range(layers)]


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotated(x, cos, sin):
    one, other = x.chunk(2, -1)
    return x * cos + torch.cat([-other, one], -1) * sin


class GroupedAttention(nn.Module):
    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, size = heads, groups, width // heads
        self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, groups * size, bias=False)
        self.v_proj = nn.Linear(width, groups * size, bias=False)

    def forward(self, x, cos, sin):
        q = self.q_proj(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k = self.k_proj(x).unflatten(-1, (self.groups, -1)).transpose(1, 2)
        v = self.v_proj(x).unflatten(-1, (self.groups, -1)).transpose(1, 2)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k, v = (each.repeat_interleave(self.heads // self.groups, 1) for each in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj, self.act_fn = nn.Linear(inner, width, bias=False), nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class LlamaLayer(nn.Module):
    def __init__(self, mlp: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.input_layernorm, self.self_attn = RMSNorm(4096), GroupedAttention(4096, 32, 8)
        self.post_attention_layernorm, self.mlp = RMSNorm(4096), mlp()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, layers: int = 32, mlp: Callable[[], nn.Module] = lambda: SwiGLU(4096, 14336)) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(128256, 4096)
        self.layers = nn.ModuleList(LlamaLayer(mlp) for _ in range(layers))
        self.norm, self.lm_head = RMSNorm(4096), nn.Linear(4096, 128256, bias=False)
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, 128, 2).float() / 128))

    def forward(self, input_ids):
        x = self.embed_tokens(input_ids)
        angle = torch.outer(torch.arange(input_ids.shape[1], device=x.device).float(), self.inv_freq)
        angle = torch.cat([angle, angle], -1)
        cos, sin = angle.cos(), angle.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.lm_head(self.norm(x))


class Experts(nn.Module):
    """All experts are called, weighed by a gate: what a fake run can follow."""

    def __init__(self, width: int, inner: int, count: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(SwiGLU(width, inner) for _ in range(count))

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        return sum(expert(x) * weights[..., number, None] for number, expert in enumerate(self.experts))


class Mixtral(Llama):
    def __init__(self) -> None:
        super().__init__(8, lambda: Experts(4096, 14336, 8))


class T5Layer(nn.Module):
    def __init__(self, cross: bool) -> None:
        super().__init__()
        self.norm1, self.self_attention = RMSNorm(512), Attention(512, 8)
        self.cross = cross
        if cross:
            self.norm2, self.cross_attention = RMSNorm(512), Attention(512, 8)
        self.norm3, self.mlp = RMSNorm(512), MLP(512, 2048)

    def forward(self, x, bias, memory=None):
        x = x + self.self_attention(self.norm1(x), mask=bias)
        if memory is not None:
            x = x + self.cross_attention(self.norm2(x), memory)
        return x + self.mlp(self.norm3(x))


class T5Stack(nn.Module):
    def __init__(self, cross: bool) -> None:
        super().__init__()
        self.relative_bias = nn.Embedding(32, 8)
        self.block = nn.ModuleList(T5Layer(cross) for _ in range(6))
        self.final_norm, self.dropout = RMSNorm(512), nn.Dropout(0.1)

    def forward(self, x, memory=None):
        places = torch.arange(x.shape[1], device=x.device)
        bias = self.relative_bias((places[None] - places[:, None]).clamp(0, 31)).permute(2, 0, 1)[None]
        for block in self.block:
            x = block(x, bias, memory)
        return self.dropout(self.final_norm(x))


class T5(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Embedding(32128, 512)
        self.encoder, self.decoder = T5Stack(False), T5Stack(True)
        self.lm_head = nn.Linear(512, 32128, bias=False)

    def forward(self, input_ids, decoder_input_ids):
        memory = self.encoder(self.shared(input_ids))
        return self.lm_head(self.decoder(self.shared(decoder_input_ids), memory)), memory


class TorchTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(32000, 512), nn.Embedding(32000, 512)
        self.transformer = nn.Transformer(512, 8, 6, 6, batch_first=True)
        self.generator = nn.Linear(512, 32000)

    def forward(self, src, tgt):
        return self.generator(self.transformer(self.source(src), self.target(tgt)))


class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(3, 768, 16, 16)
        self.cls_token, self.pos_embed = nn.Parameter(torch.zeros(1, 1, 768)), nn.Parameter(torch.zeros(1, 197, 768))
        self.blocks = nn.Sequential(*(ViTBlock(768, 12) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(768, eps=1e-6), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


class ViTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.attn, self.drop_path1 = nn.LayerNorm(width), Attention(width, heads), nn.Identity()
        self.norm2, self.mlp, self.drop_path2 = nn.LayerNorm(width), MLP(width, 4 * width), nn.Identity()

    def forward(self, x):
        x = x + self.drop_path1(self.attn(self.norm1(x)))
        return x + self.drop_path2(self.mlp(self.norm2(x)))


class Tower(nn.Module):
    def __init__(self, width: int, heads: int, layers: int, out: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(ViTBlock(width, heads) for _ in range(layers)))
        self.ln_post, self.proj = nn.LayerNorm(width), nn.Linear(width, out, bias=False)

    def forward(self, x):
        return F.normalize(self.proj(self.ln_post(self.blocks(x)).mean(1)), dim=-1)


class CLIP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 768, 32, 32), nn.Embedding(49408, 512)
        self.positions = nn.Parameter(torch.zeros(77, 512))
        self.visual, self.text = Tower(768, 12, 12, 512), Tower(512, 8, 12, 512)
        self.logit_scale = nn.Parameter(torch.ones(()))

    def forward(self, image, text):
        seen = self.visual(self.patch(image).flatten(2).transpose(1, 2))
        read = self.text(self.token(text) + self.positions)
        logits = self.logit_scale.exp() * seen @ read.t()
        return logits, logits.t()


class Whisper(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(80, 512, 3, padding=1), nn.Conv1d(512, 512, 3, 2, 1)
        self.encoder = nn.ModuleList(BertLayer(512, 8) for _ in range(6))
        self.token, self.position = nn.Embedding(51865, 512), nn.Parameter(torch.zeros(448, 512))
        self.decoder = nn.ModuleList(WhisperDecoderLayer() for _ in range(6))
        self.ln = nn.LayerNorm(512)

    def forward(self, mel, tokens):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2)
        for layer in self.encoder:
            x = layer(x, None)
        y = self.token(tokens) + self.position[: tokens.shape[1]]
        for layer in self.decoder:
            y = layer(y, x)
        return self.ln(y) @ self.token.weight.t()


class WhisperDecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attn, self.attn_ln = Attention(512, 8), nn.LayerNorm(512)
        self.cross_attn, self.cross_attn_ln = Attention(512, 8), nn.LayerNorm(512)
        self.mlp, self.mlp_ln = MLP(512, 2048), nn.LayerNorm(512)

    def forward(self, x, memory):
        x = x + self.attn(self.attn_ln(x))
        x = x + self.cross_attn(self.cross_attn_ln(x), memory)
        return x + self.mlp(self.mlp_ln(x))


# --- detection and segmentation ------------------------------------------------------------------------------------


class Backbone(nn.Module):
    """Four stages, all given back."""

    def __init__(self, widths: tuple[int, ...] = (64, 128, 256, 512)) -> None:
        super().__init__()
        self.stem = conv_norm(3, widths[0], 7, 4)
        pairs = zip((widths[0], *widths), widths, strict=False)
        self.stages = nn.ModuleList(
            nn.Sequential(conv_norm(a, b, 3, 1 if n == 0 else 2), conv_norm(b, b)) for n, (a, b) in enumerate(pairs)
        )

    def forward(self, x):
        found, x = [], self.stem(x)
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found


class PyramidNeck(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (64, 128, 256, 512), out: int = 256) -> None:
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(width, out, 1) for width in widths)
        self.output = nn.ModuleList(nn.Conv2d(out, out, 3, padding=1) for _ in widths)

    def forward(self, features):
        merged = [lateral(x) for lateral, x in zip(self.lateral, features, strict=True)]
        for level in range(len(merged) - 2, -1, -1):
            merged[level] = merged[level] + F.interpolate(merged[level + 1], scale_factor=2.0)
        return [output(x) for output, x in zip(self.output, merged, strict=True)]


class DenseHead(nn.Module):
    def __init__(self, out: int) -> None:
        super().__init__()
        self.tower = nn.Sequential(
            *(layer for _ in range(4) for layer in (nn.Conv2d(256, 256, 3, padding=1), nn.ReLU()))
        )
        self.out = nn.Conv2d(256, out, 3, padding=1)

    def forward(self, features):
        return [self.out(self.tower(x)).flatten(2).transpose(1, 2) for x in features]


class RetinaNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.fpn = Backbone(), PyramidNeck()
        self.cls_head, self.box_head = DenseHead(9 * 80), DenseHead(9 * 4)

    def forward(self, x):
        features = self.fpn(self.backbone(x))
        return {"scores": torch.cat(self.cls_head(features), 1), "boxes": torch.cat(self.box_head(features), 1)}


class YoloLike(nn.Module):
    """Three scales with their own heads, each with three outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.neck = PyramidNeck((128, 256, 512), 128)
        self.box = nn.ModuleList(nn.Sequential(conv_norm(128, 64), nn.Conv2d(64, 4, 1)) for _ in range(3))
        self.obj = nn.ModuleList(nn.Sequential(conv_norm(128, 64), nn.Conv2d(64, 1, 1)) for _ in range(3))
        self.cls = nn.ModuleList(nn.Sequential(conv_norm(128, 64), nn.Conv2d(64, 80, 1)) for _ in range(3))

    def forward(self, x):
        features = self.neck(self.backbone(x)[1:])
        return [
            (box(f), obj(f), cls(f)) for f, box, obj, cls in zip(features, self.box, self.obj, self.cls, strict=True)
        ]


class SSD(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone((64, 128, 256, 512))
        self.extra = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, 128, 1), nn.ReLU(), nn.Conv2d(128, b, 3, 2, 1), nn.ReLU())
            for a, b in ((512, 512), (512, 256), (256, 256))
        )
        widths = (256, 512, 512, 256, 256)
        self.loc = nn.ModuleList(nn.Conv2d(width, 24, 3, padding=1) for width in widths)
        self.conf = nn.ModuleList(nn.Conv2d(width, 126, 3, padding=1) for width in widths)

    def forward(self, x):
        features = self.backbone(x)[2:]
        for extra in self.extra:
            features.append(extra(features[-1]))
        loc = torch.cat([head(f).flatten(1) for head, f in zip(self.loc, features, strict=True)], 1)
        conf = torch.cat([head(f).flatten(1) for head, f in zip(self.conf, features, strict=True)], 1)
        return loc, conf


class DETR(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.input_proj = Backbone(), nn.Conv2d(512, 256, 1)
        self.transformer = nn.Transformer(256, 8, 6, 6, 2048, batch_first=True)
        self.query, self.position = nn.Parameter(torch.zeros(100, 256)), nn.Parameter(torch.zeros(49, 256))
        self.class_embed = nn.Linear(256, 92)
        self.bbox_embed = nn.Sequential(
            nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 4)
        )

    def forward(self, x):
        x = self.input_proj(self.backbone(x)[-1]).flatten(2).transpose(1, 2) + self.position
        y = self.transformer(x, self.query.expand(x.shape[0], -1, -1))
        return {"pred_logits": self.class_embed(y), "pred_boxes": self.bbox_embed(y).sigmoid()}


class ASPP(nn.Module):
    def __init__(self, into: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(
            [conv_norm(into, 256, 1)]
            + [
                nn.Sequential(nn.Conv2d(into, 256, 3, padding=rate, dilation=rate), nn.BatchNorm2d(256), nn.ReLU())
                for rate in (6, 12, 18)
            ]
        )
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(into, 256, 1), nn.ReLU())
        self.project = nn.Sequential(conv_norm(1280, 256, 1), nn.Dropout(0.5))

    def forward(self, x):
        found = [conv(x) for conv in self.convs]
        found.append(F.interpolate(self.pool(x), size=x.shape[-2:], mode="bilinear"))
        return self.project(torch.cat(found, 1))


class DeepLab(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.aspp, self.low = Backbone(), ASPP(512), conv_norm(64, 48, 1)
        self.head = nn.Sequential(conv_norm(304, 256), nn.Conv2d(256, 21, 1))

    def forward(self, x):
        features = self.backbone(x)
        y = F.interpolate(self.aspp(features[-1]), size=features[0].shape[-2:], mode="bilinear")
        y = self.head(torch.cat([y, self.low(features[0])], 1))
        return F.interpolate(y, size=x.shape[-2:], mode="bilinear")


class PSPNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.pools = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(size), conv_norm(512, 128, 1)) for size in (1, 2, 3, 6)
        )
        self.head = nn.Sequential(conv_norm(1024, 256), nn.Dropout(0.1), nn.Conv2d(256, 19, 1))

    def forward(self, x):
        y = self.backbone(x)[-1]
        found = [y, *(F.interpolate(pool(y), size=y.shape[-2:], mode="bilinear") for pool in self.pools)]
        return self.head(torch.cat(found, 1))


class HRModule(nn.Module):
    def __init__(self, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Sequential(conv_norm(w, w), conv_norm(w, w)) for w in widths)
        self.fuse = nn.ModuleList(
            nn.ModuleList(
                nn.Identity() if i == j else conv_norm(w, v, 1 if j > i else 3, 1 if j > i else 2 ** (i - j), act=False)
                for j, w in enumerate(widths)
            )
            for i, v in enumerate(widths)
        )

    def forward(self, xs):
        xs = [branch(x) for branch, x in zip(self.branches, xs, strict=True)]
        out = []
        for i, row in enumerate(self.fuse):
            parts = [fuse(x) for fuse, x in zip(row, xs, strict=True)]
            parts = [F.interpolate(p, size=xs[i].shape[-2:]) for p in parts]
            out.append(F.relu(sum(parts)))
        return out


class HRNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 64, 3, 2), conv_norm(64, 18, 3, 2))
        self.down1, self.stage2 = conv_norm(18, 36, 3, 2), HRModule((18, 36))
        self.down2, self.stage3 = conv_norm(36, 72, 3, 2), HRModule((18, 36, 72))
        self.head = nn.Conv2d(126, 19, 1)

    def forward(self, x):
        x = self.stem(x)
        xs = self.stage2([x, self.down1(x)])
        xs = self.stage3([*xs, self.down2(xs[-1])])
        xs = [F.interpolate(x, size=xs[0].shape[-2:]) for x in xs]
        return self.head(torch.cat(xs, 1))


class SegFormer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = (32, 64, 160, 256)
        self.patches = nn.ModuleList(
            nn.Conv2d(a, b, 7 if n == 0 else 3, 4 if n == 0 else 2, 3 if n == 0 else 1)
            for n, (a, b) in enumerate(zip((3, *widths), widths, strict=False))
        )
        self.stages = nn.ModuleList(nn.Sequential(*(ViTBlock(w, w // 32) for _ in range(2))) for w in widths)
        self.project = nn.ModuleList(nn.Linear(w, 256) for w in widths)
        self.fuse, self.classify = conv_norm(1024, 256, 1), nn.Conv2d(256, 150, 1)

    def forward(self, x):
        found = []
        for patch, stage, project in zip(self.patches, self.stages, self.project, strict=True):
            x = patch(x)
            size = x.shape[-2:]
            y = stage(x.flatten(2).transpose(1, 2))
            x = y.transpose(1, 2).unflatten(2, size)
            found.append(F.interpolate(project(y).transpose(1, 2).unflatten(2, size), size=(56, 56), mode="bilinear"))
        return self.classify(self.fuse(torch.cat(found, 1)))


# --- recurrent and generative --------------------------------------------------------------------------------------


class Seq2Seq(nn.Module):
    """An encoder, and a decoder that attends at every step."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(8000, 256), nn.Embedding(8000, 256)
        self.encoder, self.cell = nn.GRU(256, 512, batch_first=True), nn.GRUCell(768, 512)
        self.attend, self.out = nn.Linear(512, 512), nn.Linear(1024, 8000)

    def forward(self, src, tgt):
        memory, state = self.encoder(self.source(src))
        h, said = state[0], []
        words = self.target(tgt)
        for t in range(tgt.shape[1]):
            weights = torch.softmax(torch.bmm(memory, self.attend(h).unsqueeze(2)), 1)
            context = (weights * memory).sum(1)
            h = self.cell(torch.cat([words[:, t], context], -1), h)
            said.append(self.out(torch.cat([h, context], -1)))
        return torch.stack(said, 1)


class CharRNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cells = nn.Embedding(128, 256), nn.ModuleList(nn.LSTMCell(256, 256) for _ in range(2))
        self.out = nn.Linear(256, 128)

    def forward(self, text):
        x = self.embed(text)
        states = [(x.new_zeros(x.shape[0], 256), x.new_zeros(x.shape[0], 256)) for _ in self.cells]
        said = []
        for t in range(text.shape[1]):
            y = x[:, t]
            for layer, cell in enumerate(self.cells):
                states[layer] = cell(y, states[layer])
                y = states[layer][0]
            said.append(self.out(y))
        return torch.stack(said, 1)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.chars = nn.Embedding(20000, 100), nn.Embedding(100, 25)
        self.char_conv = nn.Conv1d(25, 30, 3, padding=1)
        self.lstm, self.dropout = nn.LSTM(130, 200, 2, bidirectional=True, batch_first=True), nn.Dropout(0.5)
        self.out = nn.Linear(400, 17)

    def forward(self, words, chars):
        b, t, c = chars.shape
        letters = self.char_conv(self.chars(chars).view(b * t, c, 25).transpose(1, 2)).amax(-1).view(b, t, 30)
        found, _ = self.lstm(torch.cat([self.words(words), letters], -1))
        return self.out(self.dropout(found))


class GatedConv(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.filter = nn.Conv1d(64, 64, 2, dilation=dilation)
        self.gate = nn.Conv1d(64, 64, 2, dilation=dilation)
        self.residual, self.skip = nn.Conv1d(64, 64, 1), nn.Conv1d(64, 256, 1)
        self.dilation = dilation

    def forward(self, x):
        padded = F.pad(x, (self.dilation, 0))
        y = torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))
        return x + self.residual(y), self.skip(y)


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Conv1d(256, 64, 1)
        self.layers = nn.ModuleList(GatedConv(2**n) for n in range(10))
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(256, 256, 1), nn.ReLU(), nn.Conv1d(256, 256, 1))

    def forward(self, x):
        x, total = self.start(x), 0
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip
        return self.end(total)


class DCGAN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = (100, 512, 256, 128, 64)
        layers: list[nn.Module] = []
        for n, (a, b) in enumerate(itertools.pairwise(widths)):
            up = nn.ConvTranspose2d(a, b, 4, 1 if n == 0 else 2, 0 if n == 0 else 1, bias=False)
            layers += [up, nn.BatchNorm2d(b), nn.ReLU()]
        self.main = nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Coupling(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Sequential(nn.Linear(width // 2, 256), nn.ReLU(), nn.Linear(256, width // 2), nn.Tanh())
        self.shift = nn.Sequential(nn.Linear(width // 2, 256), nn.ReLU(), nn.Linear(256, width // 2))

    def forward(self, x):
        a, b = x.chunk(2, -1)
        s = self.scale(a)
        return torch.cat([b * torch.exp(s) + self.shift(a), a], -1), s.sum(-1)


class RealNVP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.flows = nn.ModuleList(Coupling(64) for _ in range(8))

    def forward(self, x):
        total = x.new_zeros(x.shape[0])
        for flow in self.flows:
            x, logdet = flow(x)
            total = total + logdet
        return x, total


class VQVAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(conv_norm(3, 64, 4, 2), conv_norm(64, 128, 4, 2), nn.Conv2d(128, 64, 1))
        self.codebook = nn.Embedding(512, 64)
        self.decoder = nn.Sequential(
            conv_norm(64, 128), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1)
        )

    def forward(self, x):
        z = self.encoder(x).permute(0, 2, 3, 1)
        far = torch.cdist(z.flatten(0, 2), self.codebook.weight)
        q = self.codebook(far.argmin(-1)).view_as(z)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return self.decoder(q.permute(0, 3, 1, 2)), loss


class TimeBlock(nn.Module):
    def __init__(self, into: int, out: int, attend: bool) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, into), nn.Conv2d(into, out, 3, padding=1)
        self.time, self.act = nn.Linear(1280, out), nn.SiLU()
        self.norm2, self.conv2 = nn.GroupNorm(32, out), nn.Conv2d(out, out, 3, padding=1)
        self.skip = nn.Conv2d(into, out, 1) if into != out else nn.Identity()
        self.attend = attend
        if attend:
            self.norm3, self.cross = nn.LayerNorm(out), Attention(out, 8)
            self.context = nn.Linear(768, out)

    def forward(self, x, t, context):
        y = self.conv1(self.act(self.norm1(x))) + self.time(self.act(t))[:, :, None, None]
        x = self.skip(x) + self.conv2(self.act(self.norm2(y)))
        if not self.attend:
            return x
        flat = x.flatten(2).transpose(1, 2)
        flat = flat + self.cross(self.norm3(flat), self.context(context))
        return flat.transpose(1, 2).unflatten(2, x.shape[-2:])


class StableUNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = (320, 640, 1280)
        self.time_embed = nn.Sequential(nn.Linear(320, 1280), nn.SiLU(), nn.Linear(1280, 1280))
        self.conv_in = nn.Conv2d(4, 320, 3, padding=1)
        self.down = nn.ModuleList(TimeBlock(a, b, b < 1280) for a, b in zip((320, 320, 640), widths, strict=True))
        self.shrink = nn.ModuleList(nn.Conv2d(w, w, 3, 2, 1) for w in widths[:-1])
        self.mid = TimeBlock(1280, 1280, True)
        self.up = nn.ModuleList(
            TimeBlock(a, b, b < 1280) for a, b in ((2560, 1280), (1280 + 640, 640), (640 + 320, 320))
        )
        self.grow = nn.ModuleList(nn.Conv2d(w, w, 3, padding=1) for w in (1280, 640))
        self.out = nn.Sequential(nn.GroupNorm(32, 320), nn.SiLU(), nn.Conv2d(320, 4, 3, padding=1))

    def forward(self, sample, timestep, context):
        half = torch.exp(torch.arange(160, device=sample.device) * -0.057)
        angle = timestep[:, None] * half
        t = self.time_embed(torch.cat([angle.cos(), angle.sin()], -1))
        x, kept = self.conv_in(sample), []
        for level, block in enumerate(self.down):
            x = block(x, t, context)
            kept.append(x)
            if level < len(self.shrink):
                x = self.shrink[level](x)
        x = self.mid(x, t, context)
        for level, block in enumerate(self.up):
            x = block(torch.cat([x, kept.pop()], 1), t, context)
            if level < len(self.grow):
                x = self.grow[level](F.interpolate(x, scale_factor=2.0))
        return self.out(x)


class StyleLayer(nn.Module):
    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.style, self.conv, self.noise = (
            nn.Linear(512, into),
            nn.Conv2d(into, out, 3, padding=1),
            nn.Parameter(torch.zeros(1)),
        )
        self.to_rgb = nn.Conv2d(out, 3, 1)

    def forward(self, x, w, image):
        x = F.interpolate(x, scale_factor=2.0) * self.style(w)[:, :, None, None]
        x = F.leaky_relu(self.conv(x) + self.noise, 0.2)
        return x, F.interpolate(image, scale_factor=2.0) + self.to_rgb(x)


class StyleGAN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mapping = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(512, 512), nn.LeakyReLU(0.2))))
        self.constant = nn.Parameter(torch.zeros(1, 512, 4, 4))
        self.synthesis = nn.ModuleList(StyleLayer(a, b) for a, b in ((512, 512), (512, 256), (256, 128), (128, 64)))

    def forward(self, z):
        w = self.mapping(z)
        x, image = self.constant, self.constant[:, :3]
        for layer in self.synthesis:
            x, image = layer(x, w, image)
        return image


# --- odd ones ------------------------------------------------------------------------------------------------------


class ThirtyHeads(nn.Module):
    """One trunk, thirty tasks of different sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.heads = nn.ModuleDict({f"task_{n}": nn.Linear(256, n + 1) for n in range(30)})

    def forward(self, x):
        x = self.trunk(x)
        return {name: head(x) for name, head in self.heads.items()}


class SixtyFourExperts(nn.Module):
    """Experts with different widths, so that none is like another."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(256, 64), nn.ModuleList(MLP(256, 64 + 8 * n) for n in range(64))
        self.out = nn.Linear(256, 10)

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        found = torch.stack([expert(x) for expert in self.experts], 1)
        return self.out((found * weights[:, :, None]).sum(1))


class Layers(nn.Module):
    def __init__(self, unlike: bool) -> None:
        super().__init__()
        widths = [64 + (n % 7) * 8 + n if unlike else 128 for n in range(301)]
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in itertools.pairwise(widths))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Siamese(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(conv_norm(3, 64, 5, 2), conv_norm(64, 128, 3, 2), nn.AdaptiveAvgPool2d(1))
        self.project, self.compare = nn.Linear(128, 64), nn.Linear(1, 1)

    def forward(self, anchor, positive, negative):
        one, two, three = (self.project(self.encoder(x).flatten(1)) for x in (anchor, positive, negative))
        near, far = F.pairwise_distance(one, two), F.pairwise_distance(one, three)
        return self.compare(near[:, None]), self.compare(far[:, None])


class FPN(nn.Module):
    """The shared head is called once for each of four levels."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.fpn = Backbone(), PyramidNeck()
        self.head = nn.Sequential(nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 36, 1))

    def forward(self, x):
        return [self.head(level) for level in self.fpn(self.backbone(x))]


class SparseMoE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm = nn.Linear(128, 256), nn.LayerNorm(256)
        self.moe, self.head = Experts(256, 512, 16), nn.Linear(256, 10)

    def forward(self, x):
        x = self.embed(x)
        return self.head(x + self.moe(self.norm(x)))


class GraphLayer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(2 * width, width), nn.GRUCell(width, width)

    def forward(self, h, source, target):
        sent = torch.relu(self.message(torch.cat([h[source], h[target]], -1)))
        return self.update(torch.zeros_like(h).index_add(0, target, sent), h)


class GNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.layers = nn.Linear(16, 64), nn.ModuleList(GraphLayer(64) for _ in range(4))
        self.readout = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, nodes, source, target):
        h = self.embed(nodes)
        for layer in self.layers:
            h = layer(h, source, target)
        return self.readout(h.mean(0, keepdim=True))


class DLRM(nn.Module):
    """Thirteen numbers and twenty-six categories with tables of different sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 64), nn.ReLU())
        self.tables = nn.ModuleList(nn.EmbeddingBag(100 * (n + 1), 64, mode="sum") for n in range(26))
        self.top = nn.Sequential(nn.Linear(64 + 351, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        found = torch.stack([x, *(table(sparse[n]) for n, table in enumerate(self.tables))], 1)
        pairs = torch.bmm(found, found.transpose(1, 2)).flatten(1)[:, :351]
        return torch.sigmoid(self.top(torch.cat([x, pairs], 1)))


class NASCell(nn.Module):
    """Five nodes, each a sum of two operations of what was before it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        kinds = (3, 5, 1, 3, 5, 1, 3, 3, 5, 1)
        self.ops = nn.ModuleList(conv_norm(width, width, kernel) for kernel in kinds)

    def forward(self, a, b):
        states = [a, b]
        for node in range(5):
            one, other = states[node], states[node + 1]
            states.append(self.ops[2 * node](one) + self.ops[2 * node + 1](other))
        return torch.cat(states[-4:], 1)[:, : a.shape[1]]


class NASNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.cells = conv_norm(3, 48), nn.ModuleList(NASCell(48) for _ in range(3))
        self.fc = nn.Linear(48, 10)

    def forward(self, x):
        before = now = self.stem(x)
        for cell in self.cells:
            before, now = now, cell(before, now)
        return self.fc(now.mean((2, 3)))


@dataclass(frozen=True, slots=True)
class Shown:
    """One model: what it is called, how it is built, what it is given."""

    name: str
    build: Callable[[], nn.Module] | str
    """A class here, the target of a sample, or the name of a builder of torchvision."""
    inputs: Callable[[], tuple[Any, ...]] = tuple
    """Values; of a sample, what `--input` says of them."""
    quick: bool = False
    """It is drawn in the test suite too."""


def given(*tensors: Callable[[], Any]) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(tensor() for tensor in tensors)


GROUPS: dict[str, tuple[Shown, ...]] = {
    "convolutional": (
        Shown("AlexNet", AlexNet, given(image)),
        Shown("VGG-16", VGG16, given(image)),
        Shown("SqueezeNet", SqueezeNet, given(image)),
        Shown("MobileNetV2", MobileNetV2, given(image)),
        Shown("SE-ResNeXt-50", SEResNeXt50, given(image)),
        Shown("Inception blocks", SmallInception, given(image), quick=True),
        Shown("ConvNeXt-T", ConvNeXt, given(image), quick=True),
        Shown("ResNet-18", "resnet.py", lambda: ("1x3x224x224",)),
        Shown("ResNet-50", "torchvision:resnet50", given(image)),
        Shown("GoogLeNet", "torchvision:googlenet", given(image)),
        Shown("Inception v3", "torchvision:inception_v3", given(lambda: image(299))),
        Shown("DenseNet-121", "torchvision:densenet121", given(image)),
        Shown("EfficientNet-B0", "torchvision:efficientnet_b0", given(image)),
        Shown("ShuffleNet v2", "torchvision:shufflenet_v2_x1_0", given(image)),
    ),
    "transformers and decoders": (
        Shown("BERT", Bert, given(lambda: ints(1, 16), lambda: ints(1, 16), lambda: ints(1, 16))),
        Shown("GPT-2 with a cache", GPT2Cache, given(lambda: ints(1, 4), lambda: cache(12)), quick=True),
        Shown("Llama 3 8B", Llama, given(lambda: ints(1, 16))),
        Shown("Mixtral-like", Mixtral, given(lambda: ints(1, 16))),
        Shown("T5-small", T5, given(lambda: ints(1, 12), lambda: ints(1, 8)), quick=True),
        Shown("nn.Transformer", TorchTransformer, given(lambda: ints(1, 12), lambda: ints(1, 8))),
        Shown("ViT-B/16", ViT, given(image)),
        Shown("CLIP", CLIP, given(image, lambda: ints(1, 77)), quick=True),
        Shown("Whisper", Whisper, given(lambda: torch.zeros(1, 80, 100), lambda: ints(1, 8))),
        Shown("TransformerLM", "transformer_lm.py", lambda: ("1x16:int64",)),
        Shown("ViT sample", "vit.py"),
        Shown("Swin-T", "torchvision:swin_t", given(image)),
    ),
    "detection and segmentation": (
        Shown("RetinaNet", RetinaNet, given(image), quick=True),
        Shown("YOLO-like", YoloLike, given(image), quick=True),
        Shown("SSD", SSD, given(image)),
        Shown("DETR", DETR, given(image)),
        Shown("DeepLab", DeepLab, given(image), quick=True),
        Shown("PSPNet", PSPNet, given(image)),
        Shown("HRNet", HRNet, given(image)),
        Shown("SegFormer", SegFormer, given(image)),
        Shown("U-Net", "unet.py", lambda: ("1x3x64x64",)),
        Shown(
            "Faster R-CNN", "torchvision:detection.fasterrcnn_resnet50_fpn", given(lambda: [torch.zeros(3, 128, 128)])
        ),
        Shown("DeepLab v3", "torchvision:segmentation.deeplabv3_resnet50", given(image)),
    ),
    "recurrent and generative": (
        Shown("Seq2Seq", Seq2Seq, given(lambda: ints(1, 7), lambda: ints(1, 5)), quick=True),
        Shown("CharRNN", CharRNN, given(lambda: ints(1, 6))),
        Shown("Tagger", Tagger, given(lambda: ints(1, 9), lambda: ints(1, 9, 12))),
        Shown("WaveNet", WaveNet, given(lambda: torch.zeros(1, 256, 64))),
        Shown("DCGAN", DCGAN, given(lambda: torch.zeros(1, 100, 1, 1))),
        Shown("RealNVP", RealNVP, given(lambda: torch.zeros(4, 64))),
        Shown("VQ-VAE", VQVAE, given(lambda: image(32))),
        Shown(
            "Stable Diffusion U-Net",
            StableUNet,
            given(lambda: torch.zeros(1, 4, 32, 32), lambda: torch.zeros(1), lambda: torch.zeros(1, 77, 768)),
        ),
        Shown("StyleGAN", StyleGAN, given(lambda: torch.zeros(1, 512))),
        Shown("LSTM classifier", "lstm_classifier.py", lambda: ("tokens=1x12:int64",)),
        Shown("VAE", "vae.py"),
        Shown("Diffusion U-Net", "diffusion_unet_tiny.py"),
    ),
    "odd ones": (
        Shown("30 heads", ThirtyHeads, given(lambda: torch.zeros(4, 128)), quick=True),
        Shown("64 experts", SixtyFourExperts, given(lambda: torch.zeros(4, 256))),
        Shown("300 equal layers", lambda: Layers(False), given(lambda: torch.zeros(4, 128))),
        Shown("300 unequal layers", lambda: Layers(True), given(lambda: torch.zeros(4, 64))),
        Shown("Siamese", Siamese, given(lambda: image(64), lambda: image(64), lambda: image(64)), quick=True),
        Shown("FPN", FPN, given(image), quick=True),
        Shown("MoE of 16", SparseMoE, given(lambda: torch.zeros(4, 128))),
        Shown("GNN", GNN, given(lambda: torch.zeros(9, 16), lambda: ints(20), lambda: ints(20)), quick=True),
        Shown("DLRM", DLRM, given(lambda: torch.zeros(4, 13), lambda: ints(26, 4, 1))),
        Shown("NASNet", NASNet, given(lambda: image(32))),
        Shown("MoE sample", "moe.py", lambda: ("1x3x16",)),
    ),
}
