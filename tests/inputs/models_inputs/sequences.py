"""Models of text, signals and other sequences."""
# ruff: noqa: RUF059

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LstmClassifier(nn.Module):
    def __init__(self, vocab=500, emb=16, hid=24):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hid, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hid, 2)

    def forward(self, text):
        out, (h, c) = self.lstm(self.embedding(text))
        return self.fc(torch.cat([h[-2], h[-1]], dim=1))


class PackedLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 8)
        self.rnn = nn.LSTM(8, 12, batch_first=True)
        self.out = nn.Linear(12, 3)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.emb(x), lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (h, _) = self.rnn(packed)
        return self.out(h[-1])


class CharRnn(nn.Module):
    def __init__(self, n=65, h=32):
        super().__init__()
        self.lstm = nn.LSTM(n, h, 2, batch_first=True)
        self.fc = nn.Linear(h, n)

    def forward(self, x, hidden):
        r, hidden = self.lstm(x, hidden)
        return self.fc(r.contiguous().view(-1, 32)), hidden


class GruStep(nn.Module):
    def __init__(self, vocab=30, h=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab, h)
        self.gru = nn.GRU(h, h)
        self.out = nn.Linear(h, vocab)

    def forward(self, input, hidden):
        e = self.embedding(input).view(1, 1, -1)
        o, hidden = self.gru(e, hidden)
        return F.log_softmax(self.out(o[0]), dim=1), hidden


class TupleState(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(5, 7)
        self.v = nn.Linear(7, 1)

    def forward(self, x, state):
        h, c = state
        h, c = self.cell(x, (h, c))
        return self.v(h), (h, c)


class TimeSeries(nn.Module):
    def __init__(self, input_size=9, hidden=16):
        super().__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(input_size, hidden, 2, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        h0 = torch.zeros(2, x.size(0), self.hidden)
        c0 = torch.zeros(2, x.size(0), self.hidden)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])


class PositionalEncoding(nn.Module):
    def __init__(self, d, max_len=64):
        super().__init__()
        pe = torch.zeros(max_len, d)
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class Seq2SeqTransformer(nn.Module):
    def __init__(self, sv=100, tv=120, d=32):
        super().__init__()
        self.src_emb = nn.Embedding(sv, d)
        self.tgt_emb = nn.Embedding(tv, d)
        self.pos = PositionalEncoding(d)
        self.transformer = nn.Transformer(d, 4, 1, 1, 64, batch_first=True)
        self.generator = nn.Linear(d, tv)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None):
        s = self.pos(self.src_emb(src))
        t = self.pos(self.tgt_emb(tgt))
        return self.generator(self.transformer(s, t, src_mask, tgt_mask))


class WordLanguageModel(nn.Module):
    def __init__(self, ntoken=80, d=16):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, d)
        self.layer = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 2, 32), 1)
        self.decoder = nn.Linear(d, ntoken)

    def forward(self, src, src_mask):
        return self.decoder(self.layer(self.encoder(src) * 4.0, src_mask))


class SelfAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.dk = heads, d // heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, mask=None):
        B, T, C = x.shape
        q, k, v = (f(x).view(B, T, self.heads, self.dk).transpose(1, 2) for f in (self.q, self.k, self.v))
        att = q @ k.transpose(-2, -1) / self.dk**0.5
        if mask is not None:
            att = att.masked_fill(mask == 0, -1e9)
        return self.o((att.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


class MiniGpt(nn.Module):
    def __init__(self, vocab=65, block_size=32, d=32):
        super().__init__()
        self.block_size = block_size
        self.wpe = nn.Embedding(block_size, d)
        self.wte = nn.Embedding(vocab, d)
        self.attn = SelfAttention(d, 4)
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        assert t <= self.block_size, "too long"
        x = self.wte(idx) + self.wpe(torch.arange(t, device=idx.device))
        logits = self.head(self.ln(x + self.attn(x)))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, 65), targets.view(-1))
        return logits, loss


class BertLike(nn.Module):
    main_input_name = "input_ids"

    def __init__(self, vocab=99, d=16, max_len=40):
        super().__init__()
        self.position = nn.Embedding(max_len, d)
        self.word = nn.Embedding(vocab, d)
        self.seg = nn.Embedding(2, d)
        self.att = SelfAttention(d, 2)
        self.pool = nn.Linear(d, d)

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
    ):
        if input_ids is None and inputs_embeds is None:
            raise ValueError("You have to specify either input_ids or inputs_embeds")
        x = self.word(input_ids) if inputs_embeds is None else inputs_embeds
        if attention_mask is None:
            attention_mask = torch.ones(x.shape[:2])
        if token_type_ids is None:
            token_type_ids = torch.zeros(x.shape[:2], dtype=torch.long)
        x = x + self.position(torch.arange(x.size(1)))[None] + self.seg(token_type_ids)
        return self.pool(self.att(x, attention_mask[:, None, None, :])[:, 0])


class MaskedEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 16)
        self.enc = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, tokens, padding_mask):
        return self.enc(self.emb(tokens), src_key_padding_mask=padding_mask)


class IntMask(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 16)
        self.fc = nn.Linear(16, 2)

    def forward(self, input_ids, attention_mask):
        h = self.emb(input_ids)
        bias = (1 - attention_mask) * -1e4
        w = (h.sum(-1) + bias).softmax(-1)
        return self.fc((h * w.unsqueeze(-1)).sum(1))


class AudioM5(nn.Module):
    def __init__(self, n_input=1, n_channel=8):
        super().__init__()
        self.conv1 = nn.Conv1d(n_input, n_channel, kernel_size=80, stride=16)
        self.bn1 = nn.BatchNorm1d(n_channel)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(n_channel, n_channel, kernel_size=3)
        self.pool2 = nn.MaxPool1d(4)
        self.fc1 = nn.Linear(n_channel, 35)

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.conv2(x)))
        x = F.avg_pool1d(x, x.shape[-1]).permute(0, 2, 1)
        return F.log_softmax(self.fc1(x), dim=2)


class EcgCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 8, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 16, 5), nn.ReLU(), nn.MaxPool1d(2)
        )
        self.fc = nn.Linear(16 * 43, 5)

    def forward(self, x):
        return self.fc(torch.flatten(self.conv(x), 1))


class RawWave(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(1, 16, 400, 160)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, waveform):
        x = self.front(waveform.unsqueeze(1)).transpose(1, 2)
        return self.head(self.gru(x)[0].mean(1))


class MelConformer(nn.Module):
    def __init__(self, n_mels=80, d=32):
        super().__init__()
        self.proj = nn.Linear(n_mels, d)
        self.att = nn.MultiheadAttention(d, 4, batch_first=True)
        self.pw = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, 31, padding=15, groups=d)
        self.norm = nn.BatchNorm1d(d)
        self.head = nn.Linear(d, 29)

    def forward(self, mel):
        x = self.proj(mel)
        x = x + self.att(x, x, x, need_weights=False)[0]
        y = F.glu(self.pw(x.transpose(1, 2)), dim=1)
        return self.head(x + self.norm(self.dw(y)).transpose(1, 2))


class Tacotron(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(80, 16, 3, padding=1)
        self.rnn = nn.GRU(16, 8, batch_first=True)

    def forward(self, spec):
        return self.rnn(self.conv(spec.permute(0, 2, 1)).permute(0, 2, 1))[0]


class TextCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(300, 20)
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, (k, 20)) for k in (3, 4, 5)])
        self.fc = nn.Linear(12, 2)

    def forward(self, x):
        x = self.embed(x).unsqueeze(1)
        x = [F.relu(c(x)).squeeze(3) for c in self.convs]
        return self.fc(torch.cat([F.max_pool1d(i, i.size(2)).squeeze(2) for i in x], 1))


class FixedContext(nn.Module):
    def __init__(self, context=4):
        super().__init__()
        self.emb = nn.Embedding(50, 6)
        self.fc = nn.Linear(6 * context, 50)

    def forward(self, inputs):
        return self.fc(self.emb(inputs).view(inputs.shape[0], -1))


class LearnedPositions(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(50, 12)
        self.pos = nn.Parameter(torch.zeros(1, 20, 12))
        self.enc = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True)

    def forward(self, x):
        return self.enc(self.tok(x) + self.pos)


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.embed = nn.Embedding(200, 8)
        self.lstm = nn.LSTM(8, 16, batch_first=True)
        self.out = nn.Linear(16, 200)

    def forward(self, images, captions):
        e = torch.cat([self.cnn(images).unsqueeze(1), self.embed(captions[:, :-1])], dim=1)
        return self.out(self.lstm(e)[0])


class ClipLike(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Sequential(nn.Conv2d(3, 4, 16, 16), nn.Flatten(), nn.Linear(4 * 14 * 14, 8))
        self.token = nn.Embedding(100, 8)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, image, text):
        i = F.normalize(self.visual(image), dim=-1)
        t = F.normalize(self.token(text).mean(1), dim=-1)
        return self.scale.exp() * i @ t.t()


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 6)
        self.fc = nn.Linear(6, 2)

    def forward(self, seq):
        h = torch.zeros(seq.size(0), 6)
        for t in range(seq.size(1)):
            h = self.cell(seq[:, t], h)
        return self.fc(h)


MODELS = [
    LstmClassifier,
    PackedLstm,
    CharRnn,
    GruStep,
    TupleState,
    TimeSeries,
    Seq2SeqTransformer,
    WordLanguageModel,
    MiniGpt,
    BertLike,
    MaskedEncoder,
    IntMask,
    AudioM5,
    EcgCnn,
    RawWave,
    MelConformer,
    Tacotron,
    TextCnn,
    FixedContext,
    LearnedPositions,
    Captioner,
    ClipLike,
    Loops,
]
INTENDED = {
    "LstmClassifier": {"text": (1, 8)},
    "TimeSeries": {"x": (1, 8, 9)},
    "MelConformer": {"mel": (1, 8, 80)},
    "EcgCnn": {"x": (1, 1, 187)},
    "FixedContext": {"inputs": (1, 4)},
    "LearnedPositions": {"x": (1, 20)},
    "ClipLike": {"image": (1, 3, 224, 224)},
    "Loops": {"seq": (1, 8, 3)},
    "TupleState": {"x": (1, 5)},
}
