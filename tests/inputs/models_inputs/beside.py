"""Models that take several things of which one says what another must be: states, steps, graphs, arrays, parts."""
# ruff: noqa: RUF059

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionStep(nn.Module):
    """One word, the state, and all that an encoder gave, of which there are exactly so many."""

    def __init__(self, hidden=16, words=30, max_length=10):
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.attn = nn.Linear(2 * hidden, max_length)
        self.combine = nn.Linear(2 * hidden, hidden)
        self.gru = nn.GRU(hidden, hidden)
        self.out = nn.Linear(hidden, words)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input).view(1, 1, -1)
        weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        applied = torch.bmm(weights.unsqueeze(0), encoder_outputs.unsqueeze(0))
        output = F.relu(self.combine(torch.cat((embedded[0], applied[0]), 1)).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden, weights


class AttentionOfRows(nn.Module):
    """The state has no layers, and what the encoder gave is twice as wide."""

    def __init__(self, words=30, width=8, enc=12, dec=16):
        super().__init__()
        self.attn = nn.Linear(2 * enc + dec, dec)
        self.v = nn.Linear(dec, 1, bias=False)
        self.embedding = nn.Embedding(words, width)
        self.rnn = nn.GRU(2 * enc + width, dec)
        self.out = nn.Linear(2 * enc + dec + width, words)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input.unsqueeze(0))
        steps = encoder_outputs.shape[0]
        rows = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden.unsqueeze(1).repeat(1, steps, 1), rows), dim=2)))
        weighted = torch.bmm(F.softmax(self.v(energy).squeeze(2), dim=1).unsqueeze(1), rows).permute(1, 0, 2)
        output, hidden = self.rnn(torch.cat((embedded, weighted), dim=2), hidden.unsqueeze(0))
        return self.out(torch.cat((output.squeeze(0), weighted.squeeze(0), embedded.squeeze(0)), dim=1)), hidden


class LastHidden(nn.Module):
    def __init__(self, words=30, hidden=12):
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.gru = nn.GRU(hidden, hidden, 2)
        self.out = nn.Linear(2 * hidden, words)

    def forward(self, input_step, last_hidden, encoder_outputs):
        output, hidden = self.gru(self.embedding(input_step), last_hidden)
        energies = torch.sum(output * encoder_outputs, dim=2).t().softmax(1).unsqueeze(1)
        context = energies.bmm(encoder_outputs.transpose(0, 1))
        return self.out(torch.cat((output.squeeze(0), context.squeeze(1)), 1)), hidden


class NestedStates(nn.Module):
    """A view folds pixels into the batch of the cell."""

    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(*(nn.Conv2d(1 if i == 0 else 4, 4, 3, 2, 1) for i in range(4)))
        self.lstm = nn.LSTMCell(4 * 3 * 3, 16)

    def forward(self, inputs):
        inputs, (hx, cx) = inputs
        hx, cx = self.lstm(self.convs(inputs).view(-1, 4 * 3 * 3), (hx, cx))
        return hx, cx


class PairOfStates(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(9, 16, 2, batch_first=True)

    def forward(self, x, prev):
        h, c = prev
        return self.lstm(x, (h.detach(), c.detach()))


class TeacherForced(nn.Module):
    """Without a second step of the target nothing is decoded."""

    def __init__(self, words=20, hidden=8):
        super().__init__()
        self.words = words
        self.source, self.target = nn.Embedding(words, hidden), nn.Embedding(words, hidden)
        self.encoder, self.decoder = nn.GRU(hidden, hidden), nn.GRU(hidden, hidden)
        self.out = nn.Linear(hidden, words)

    def forward(self, src, trg, teacher_forcing_ratio):
        outputs = torch.zeros(trg.shape[0], trg.shape[1], self.words)
        _, hidden = self.encoder(self.source(src))
        step = trg[0]
        for t in range(1, trg.shape[0]):
            output, hidden = self.decoder(self.target(step.unsqueeze(0)), hidden)
            outputs[t] = self.out(output.squeeze(0))
            step = trg[t] if torch.rand(1).item() < teacher_forcing_ratio else outputs[t].argmax(1)
        return outputs


class GraphsInObjects(nn.Module):
    """A list of graphs: the attributes of each, and how long one of them is."""

    def __init__(self, width=7):
        super().__init__()
        self.lin = nn.Linear(width, 4)

    def forward(self, batch_graph):
        x = torch.cat([graph.node_features for graph in batch_graph], 0)
        starts = [0]
        for graph in batch_graph:
            starts.append(starts[-1] + len(graph.g))
        edges = torch.cat([graph.edge_mat + start for graph, start in zip(batch_graph, starts, strict=False)], 1)
        size = torch.Size([starts[-1], starts[-1]])
        return self.lin(torch.spmm(torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), size), x))


class GraphData(nn.Module):
    def __init__(self, width=7):
        super().__init__()
        self.lin = nn.Linear(width, 4)

    def forward(self, data):
        x, edge_index, batch = data.x, data.edge_index, data.batch
        row, col = edge_index
        x = self.lin(x)
        x = x + torch.zeros_like(x).index_add_(0, row, x[col])
        return torch.zeros(int(batch.max()) + 1, x.size(1)).index_add_(0, batch, x)


class WideEdges(nn.Module):
    def __init__(self):
        super().__init__()
        self.node, self.edge = nn.Linear(11, 8), nn.Linear(4, 8)

    def forward(self, x, edge_index, edge_attr, batch):
        x = self.node(x)[edge_index[0]] + self.edge(edge_attr)
        return torch.zeros(int(batch[-1]) + 1, 8).index_add_(0, batch[edge_index[1]], x)


class WholeGraph(nn.Module):
    """The graph has as many nodes as both tables have rows."""

    def __init__(self, users=10, items=20):
        super().__init__()
        self.sizes = [users, items]
        self.user, self.item = nn.Embedding(users, 4), nn.Embedding(items, 4)

    def forward(self, graph, users, pos_items):
        both = torch.sparse.mm(graph, torch.cat([self.user.weight, self.item.weight]))
        u, i = torch.split(both, self.sizes)
        return (u[users] * i[pos_items]).sum(-1)


class ArrayOfItems(nn.Module):
    """An array that is multiplied by what is compared with it."""

    def __init__(self, items=40, width=8, longest=12):
        super().__init__()
        self.item, self.position = nn.Embedding(items, width), nn.Embedding(longest + 1, width)

    def forward(self, user_ids, log_seqs, pos_seqs):
        positions = np.tile(np.arange(1, log_seqs.shape[1] + 1), [log_seqs.shape[0], 1])
        positions *= log_seqs != 0
        seqs = self.item(torch.LongTensor(log_seqs)) + self.position(torch.LongTensor(positions))
        return (seqs * self.item(torch.LongTensor(pos_seqs))).sum(-1)


class Arrays(nn.Module):
    def __init__(self, items=40, features=13):
        super().__init__()
        self.item, self.dense = nn.Embedding(items, 8), nn.Linear(features, 8)

    def forward(self, item_ids, features):
        ids = torch.from_numpy(item_ids.astype(np.int64))
        return self.item(ids) + self.dense(torch.from_numpy(features.astype(np.float32)))


class ArraysOfAnswers(nn.Module):
    """What is reckoned of two arrays is looked up: values must be small."""

    def __init__(self, skills=30):
        super().__init__()
        self.skills = skills
        self.emb = nn.Embedding(2 * skills, 8)

    def forward(self, skills, correct):
        x = skills + correct.astype(np.int64) * self.skills
        return self.emb(torch.from_numpy(x).long()).sum() + torch.from_numpy(skills).sum()


class RowBesideRows(nn.Module):
    """Of the parts that are joined one is a sequence as long as the model has attention."""

    def __init__(self, words=50, width=8):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.encoder = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True)
        self.meta = nn.Linear(5, width)
        self.head = nn.Linear(2 * width, 3)

    def forward(self, batch):
        text = self.encoder(self.embed(batch["input_ids"])).mean(1)
        return self.head(torch.cat([text, self.meta(batch["metadata"])], dim=-1))


class FeaturesFirst(nn.Module):
    def __init__(self, width=8, words=50):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, 12, batch_first=True)

    def forward(self, features, captions, lengths):
        steps = torch.cat((features.unsqueeze(1), self.embed(captions)), 1)
        packed = nn.utils.rnn.pack_padded_sequence(steps, lengths, batch_first=True)
        return self.lstm(packed)[0].data


class TokensOfColumns(nn.Module):
    def __init__(self, numbers=6, counts=(9, 16, 7), width=8):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, *counts[:-1]]).cumsum(0))
        self.table = nn.Embedding(sum(counts), width)
        self.weight = nn.Parameter(torch.randn(numbers + 1, width))
        self.layer = nn.TransformerEncoderLayer(width, 2, 16, batch_first=True)

    def forward(self, x_num, x_cat):
        x_num = torch.cat([torch.ones(len(x_cat), 1), x_num], dim=1)
        tokens = torch.cat([self.weight[None] * x_num[:, :, None], self.table(x_cat + self.offsets[None])], dim=1)
        return self.layer(tokens)[:, 0]


class OneTarget(nn.Module):
    """A history, and one item to which it is held: of both tables."""

    def __init__(self, items=40, cats=9, width=4):
        super().__init__()
        self.item, self.cat = nn.Embedding(items, width), nn.Embedding(cats, width)
        self.mlp = nn.Linear(4 * width + 3, 1)

    def forward(self, hist_item, hist_cat, target_item, target_cat, dense):
        h = torch.cat([self.item(hist_item), self.cat(hist_cat)], -1)
        q = torch.cat([self.item(target_item), self.cat(target_cat)], -1)
        s = (q.unsqueeze(1).expand(-1, h.size(1), -1) * h).sum(-1).softmax(-1)
        return self.mlp(torch.cat([(s.unsqueeze(-1) * h).sum(1), q, dense], -1))


class FlowBetween(nn.Module):
    """Two images, one of them moved by a flow, which has two channels."""

    def __init__(self):
        super().__init__()
        self.enc = nn.Conv2d(3 + 3 + 2, 4, 3, 1, 1)

    def forward(self, img0, img1, flow):
        b, _, h, w = img1.size()
        ys, xs = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
        grid = (torch.stack((xs, ys))[None] + flow).permute(0, 2, 3, 1) / max(h, w)
        return self.enc(torch.cat([img0, F.grid_sample(img1, grid, align_corners=True), flow], 1))


class FromTo(nn.Module):
    """Rows of where each scene begins and ends."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 8)

    def forward(self, obs_traj, seq_start_end):
        _, (h, _) = self.lstm(obs_traj)
        return torch.cat([h[0, start.item() : end.item()].max(0, keepdim=True)[0] for start, end in seq_start_end])


class NothingPast(nn.Module):
    def __init__(self, words=40, width=8):
        super().__init__()
        self.words, self.layer = nn.Embedding(words, width), nn.Linear(width, width)
        self.positions = nn.Embedding(12, width)

    def forward(self, idx, past_key_values):
        before = past_key_values[0][0].size(2) if past_key_values is not None else 0
        return self.layer(self.words(idx) + self.positions(torch.arange(before, before + idx.size(1))))


class Boxes(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 2)

    def forward(self, images, proposals):
        found = []
        for i, boxes in enumerate(proposals):
            for box in boxes:
                x1, y1, x2, y2 = box.abs().long().tolist()
                crop = self.conv(images)[i : i + 1, :, y1 : y1 + y2 + 1, x1 : x1 + x2 + 1]
                found.append(F.adaptive_max_pool2d(crop, 1).flatten(1))
        return self.head(torch.cat(found))


class OtherBoxes(nn.Module):
    """As rows beside rows."""

    def __init__(self):
        super().__init__()
        self.box, self.feat = nn.Linear(4, 8), nn.Linear(7, 8)

    def forward(self, feats, bboxes):
        x1, y1, x2, y2 = bboxes.unbind(-1)
        return self.box(torch.stack([x1 + x2, y1 + y2, x2 - x1, y2 - y1], -1)) + self.feat(feats)


class CacheOfTensors(nn.Module):
    """None does not do: it is as long as anything."""

    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x, cache):
        k = self.k(torch.cat([cache, x], 1))
        return (self.q(x) @ k.transpose(1, 2)).softmax(-1) @ k


class TauOfRows(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x, tau):
        return self.layer(x) * tau[:, None]


class SpansOfWords(nn.Module):
    def __init__(self, words=30, width=8):
        super().__init__()
        self.emb, self.length = nn.Embedding(words, width), nn.Embedding(10, width)

    def forward(self, input_ids, spans):
        h = self.emb(input_ids)
        first, last = spans[..., 0], spans[..., 1]
        parts = [h.gather(1, place.unsqueeze(-1).expand(-1, -1, h.size(-1))) for place in (first, last)]
        return torch.cat([*parts, self.length(last - first)], -1)


class ListOfDicts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(12, 4)

    def forward(self, batch):
        return self.layer(torch.stack([item["feature"] for item in batch])) - torch.stack(
            [item["target"] for item in batch]
        )


class MaskOfPixels(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(4, 3, 5, padding=2)

    def forward(self, image, mask):
        x = image * (1 - mask)
        return self.net(torch.cat([x, mask], 1)) * mask + x


class RowsWithAdjacency(nn.Module):
    """A `batch` that is none of graphs in one."""

    def __init__(self):
        super().__init__()
        self.w = nn.Linear(10, 8)

    def forward(self, batch, adj):
        return torch.bmm(adj, self.w(batch)).mean(1)


MODELS = [
    AttentionStep,
    AttentionOfRows,
    LastHidden,
    NestedStates,
    PairOfStates,
    TeacherForced,
    GraphsInObjects,
    GraphData,
    WideEdges,
    WholeGraph,
    ArrayOfItems,
    Arrays,
    ArraysOfAnswers,
    RowBesideRows,
    FeaturesFirst,
    TokensOfColumns,
    OneTarget,
    FlowBetween,
    FromTo,
    NothingPast,
    Boxes,
    OtherBoxes,
    CacheOfTensors,
    TauOfRows,
    SpansOfWords,
    ListOfDicts,
    MaskOfPixels,
    RowsWithAdjacency,
]
INTENDED = {
    "AttentionStep": {"encoder_outputs": (10, 16), "hidden": (1, 1, 16)},
    "WideEdges": {"edge_attr": (8, 4), "batch": (8,)},
    "WholeGraph": {"graph": (30, 30)},
    "FeaturesFirst": {"features": (1, 8)},
    "TokensOfColumns": {"x_num": (1, 6)},
    "FlowBetween": {"img0": (1, 3, 224, 224), "img1": (1, 3, 224, 224), "flow": (1, 2, 224, 224)},
    "OneTarget": {"dense": (1, 3)},
    "MaskOfPixels": {"image": (1, 3, 224, 224), "mask": (1, 1, 224, 224)},
    "TeacherForced": {"src": (8, 1), "trg": (8, 1)},
    "FromTo": {"seq_start_end": (1, 2)},
}
