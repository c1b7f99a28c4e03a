"""Models as people write them, each in a few lines: `mutations.py` changes one number of one, and asks who sees it."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return F.log_softmax(self.fc3(x), dim=1)


class AlexNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 96, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(96, 128, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(128 * 3 * 3, 256),
            nn.ReLU(inplace=True),
            nn.Linear(256, 10),
        )

    def forward(self, x):
        x = self.avgpool(self.features(x))
        x = torch.flatten(x, 1)
        return self.classifier(x)


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * 4)
        self.down = None
        if stride != 1 or channels != width * 4:
            self.down = nn.Sequential(
                nn.Conv2d(channels, width * 4, 1, stride=stride, bias=False), nn.BatchNorm2d(width * 4)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        identity = x if self.down is None else self.down(x)
        return F.relu(out + identity)


class SmallResNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 7, stride=2, padding=3)
        self.bn = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Bottleneck(16, 8, 1), Bottleneck(32, 8, 1))
        self.layer2 = nn.Sequential(Bottleneck(32, 16, 2), Bottleneck(64, 16, 1))
        self.layer3 = nn.Sequential(Bottleneck(64, 32, 2), Bottleneck(128, 32, 1))
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.stem(x))), 3, 2, 1)
        x = self.layer3(self.layer2(self.layer1(x)))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.head(x)


class DoubleConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU()
        )

    def forward(self, x):
        return self.net(x)


class SmallUnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = DoubleConv(1, 16)
        self.down2 = DoubleConv(16, 32)
        self.bottom = DoubleConv(32, 64)
        self.up2 = nn.ConvTranspose2d(64, 32, 2, stride=2)
        self.conv2 = DoubleConv(64, 32)
        self.up1 = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.conv1 = DoubleConv(32, 16)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        d = self.conv2(torch.cat([b, self.up2(c)], dim=1))
        e = self.conv1(torch.cat([a, self.up1(d)], dim=1))
        return self.out(e)


class DenseLayer(nn.Module):
    def __init__(self, channels, growth):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, growth, 3, padding=1)

    def forward(self, x):
        return torch.cat([x, self.conv(F.relu(self.norm(x)))], 1)


class SmallDenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 24, 3, padding=1)
        self.block1 = nn.Sequential(*[DenseLayer(24 + i * 12, 12) for i in range(3)])
        self.trans = nn.Sequential(nn.BatchNorm2d(60), nn.ReLU(), nn.Conv2d(60, 30, 1), nn.AvgPool2d(2))
        self.block2 = nn.Sequential(*[DenseLayer(30 + i * 12, 12) for i in range(3)])
        self.norm = nn.BatchNorm2d(66)
        self.fc = nn.Linear(66, 10)

    def forward(self, x):
        x = self.block2(self.trans(self.block1(self.stem(x))))
        x = F.relu(self.norm(x)).mean(dim=(2, 3))
        return self.fc(x)


class Inverted(nn.Module):
    def __init__(self, a, b, stride, expand):
        super().__init__()
        hidden = a * expand
        self.use_res = stride == 1 and a == b
        self.conv = nn.Sequential(
            nn.Conv2d(a, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, b, 1, bias=False),
            nn.BatchNorm2d(b),
        )

    def forward(self, x):
        return x + self.conv(x) if self.use_res else self.conv(x)


class SmallMobileNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        settings = [(1, 16, 1, 1), (4, 24, 2, 2), (4, 32, 2, 2)]
        layers = [nn.Conv2d(3, width, 3, 2, 1)]
        channels = width
        for expand, out, count, stride in settings:
            for i in range(count):
                layers.append(Inverted(channels, out, stride if i == 0 else 1, expand))
                channels = out
        self.features = nn.Sequential(*layers)
        self.last = nn.Conv2d(channels, 128, 1)
        self.classifier = nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.last(self.features(x)))
        return self.classifier(x.mean([2, 3]))


class Fire(nn.Module):
    def __init__(self, inplanes, squeeze, e1, e3):
        super().__init__()
        self.squeeze = nn.Conv2d(inplanes, squeeze, kernel_size=1)
        self.expand1 = nn.Conv2d(squeeze, e1, kernel_size=1)
        self.expand3 = nn.Conv2d(squeeze, e3, kernel_size=3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x))
        return torch.cat([F.relu(self.expand1(x)), F.relu(self.expand3(x))], 1)


class SmallSqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, kernel_size=3, stride=2),
            nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),
            Fire(32, 8, 16, 16),
            Fire(32, 8, 32, 32),
            nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),
            Fire(64, 16, 32, 32),
        )
        self.conv = nn.Conv2d(64, 10, kernel_size=1)

    def forward(self, x):
        return self.conv(self.features(x)).mean((2, 3))


class Inception(nn.Module):
    def __init__(self, a, b1, r3, b3, r5, b5, pool):
        super().__init__()
        self.branch1 = nn.Conv2d(a, b1, 1)
        self.branch2 = nn.Sequential(nn.Conv2d(a, r3, 1), nn.Conv2d(r3, b3, 3, padding=1))
        self.branch3 = nn.Sequential(nn.Conv2d(a, r5, 1), nn.Conv2d(r5, b5, 5, padding=2))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(a, pool, 1))

    def forward(self, x):
        outputs = [self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)]
        return torch.cat(outputs, 1)


class SmallGoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(True))
        self.a3 = Inception(32, 16, 12, 24, 4, 8, 16)
        self.b3 = Inception(64, 32, 16, 48, 8, 24, 24)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.a4 = Inception(128, 48, 16, 52, 8, 12, 16)
        self.linear = nn.Linear(128, 10)

    def forward(self, x):
        x = self.b3(self.a3(self.pre(x)))
        x = self.a4(self.pool(x))
        x = F.adaptive_avg_pool2d(x, (1, 1))
        return self.linear(x.view(x.size(0), -1))


class PatchTransformer(nn.Module):
    def __init__(self, size=32, patch=8, dim=48, depth=2, heads=4, classes=10):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, dim_feedforward=96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(48, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.encoder(x))[:, 0])


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)) / math.sqrt(c // self.heads)
        x = (attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, c)
        return self.proj(x)


class TextBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class SmallGpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(100, 32)
        self.places = nn.Embedding(64, 32)
        self.blocks = nn.ModuleList([TextBlock(32, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 100, bias=False)

    def forward(self, ids):
        n = ids.shape[1]
        x = self.tokens(ids) + self.places(torch.arange(n))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(200, 24)
        self.lstm = nn.LSTM(24, 20, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(40, 7)

    def forward(self, ids):
        states, _ = self.lstm(self.embedding(ids))
        return self.head(states)


class LastState(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(12, 18, 2)
        self.fc1 = nn.Linear(18, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        _, h = self.gru(x)
        return self.fc2(torch.tanh(self.fc1(h[-1])))


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(50, 16)
        self.target = nn.Embedding(60, 16)
        self.encoder = nn.GRU(16, 32, batch_first=True)
        self.decoder = nn.GRU(16 + 32, 32, batch_first=True)
        self.attention = nn.Linear(32, 32)
        self.out = nn.Linear(64, 60)

    def forward(self, source, target):
        memory, hidden = self.encoder(self.source(source))
        context = hidden.transpose(0, 1).expand(-1, target.size(1), -1)
        states, _ = self.decoder(torch.cat([self.target(target), context], dim=-1), hidden)
        scores = torch.bmm(self.attention(states), memory.transpose(1, 2))
        read = torch.bmm(scores.softmax(-1), memory)
        return self.out(torch.cat([states, read], dim=2))


class CharCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(70, 16)
        self.convs = nn.ModuleList([nn.Conv1d(16, 32, k) for k in (3, 4, 5)])
        self.dropout = nn.Dropout(0.5)
        self.fc = nn.Linear(96, 4)

    def forward(self, ids):
        x = self.embedding(ids).permute(0, 2, 1)
        x = [F.relu(conv(x)).max(dim=2)[0] for conv in self.convs]
        return self.fc(self.dropout(torch.cat(x, 1)))


class ImageVae(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(), nn.Flatten()
        )
        self.mean = nn.Linear(32 * 7 * 7, latent)
        self.logvar = nn.Linear(32 * 7 * 7, latent)
        self.project = nn.Linear(latent, 32 * 7 * 7)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1), nn.Sigmoid()
        )

    def forward(self, x):
        h = self.encoder(x)
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return self.decoder(self.project(z).view(-1, 32, 7, 7)), mean, logvar


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(64, 64, 4, 1, 0, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(True),
            nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(True),
            nn.ConvTranspose2d(32, 3, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2d(3, 16, 4, 2, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(16, 32, 4, 2, 1),
            nn.InstanceNorm2d(32),
            nn.LeakyReLU(0.2, inplace=True),
        )
        self.out = nn.Linear(32 * 8 * 8, 1)

    def forward(self, x):
        x = self.model(x)
        return self.out(x.view(x.shape[0], 32 * 8 * 8))


class PlainAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(28 * 28, 128), nn.ReLU(True), nn.Linear(128, 64), nn.Linear(64, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(True), nn.Linear(64, 128), nn.Linear(128, 28 * 28))

    def forward(self, x):
        x = x.reshape(-1, 784)
        x = self.decoder(self.encoder(x))
        return x.reshape(-1, 1, 28, 28)


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv1d(k, 16, 1)
        self.conv2 = nn.Conv1d(16, 64, 1)
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, k * k)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = torch.max(x, 2, keepdim=True)[0].view(-1, 64)
        x = self.fc2(F.relu(self.fc1(x)))
        return x.view(-1, self.k, self.k) + torch.eye(self.k)


class PointCloud(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = TNet(3)
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.bn1 = nn.BatchNorm1d(32)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.bn2 = nn.BatchNorm1d(64)
        self.fc = nn.Linear(64, 8)

    def forward(self, x):
        x = torch.bmm(self.turn(x), x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        return self.fc(x.max(dim=-1).values)


class Chomp(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[:, :, : -self.size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, a, b, dilation):
        super().__init__()
        self.conv1 = nn.Conv1d(a, b, 3, padding=2 * dilation, dilation=dilation)
        self.chomp1 = Chomp(2 * dilation)
        self.conv2 = nn.Conv1d(b, b, 3, padding=2 * dilation, dilation=dilation)
        self.chomp2 = Chomp(2 * dilation)
        self.down = nn.Conv1d(a, b, 1) if a != b else None

    def forward(self, x):
        out = F.relu(self.chomp1(self.conv1(x)))
        out = F.relu(self.chomp2(self.conv2(out)))
        return F.relu(out + (x if self.down is None else self.down(x)))


class TemporalNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(TemporalBlock(4, 16, 1), TemporalBlock(16, 16, 2), TemporalBlock(16, 24, 4))
        self.linear = nn.Linear(24, 5)

    def forward(self, x):
        return self.linear(self.net(x)[:, :, -1])


class GraphConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(a, b))
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x, adj):
        return torch.matmul(adj, torch.matmul(x, self.weight)) + self.bias


class SmallGcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1 = GraphConv(16, 24)
        self.gc2 = GraphConv(24, 7)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        return F.log_softmax(self.gc2(x, adj), dim=1)


class MixerLayer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.tokens = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.norm2 = nn.LayerNorm(dim)
        self.channels = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class SmallMixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, 40, 8, 8)
        self.layers = nn.Sequential(MixerLayer(16, 40), MixerLayer(16, 40))
        self.head = nn.Linear(40, 10)

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.layers(x).mean(1))


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(1, 4, 3),
            nn.ReLU(),
            nn.BatchNorm2d(4),
            nn.ReflectionPad2d(1),
            nn.Conv2d(4, 8, 3),
        )
        self.fc = nn.Sequential(nn.Linear(8 * 20 * 20, 50), nn.ReLU(), nn.Linear(50, 5))

    def once(self, x):
        x = self.cnn(x)
        return self.fc(x.view(x.size(0), -1))

    def forward(self, a, b):
        return F.pairwise_distance(self.once(a), self.once(b))


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 16, 8, stride=4)
        self.conv2 = nn.Conv2d(16, 32, 4, stride=2)
        self.conv3 = nn.Conv2d(32, 32, 3, stride=1)
        self.value = nn.Linear(32 * 7 * 7, 1)
        self.advantage = nn.Linear(32 * 7 * 7, 6)

    def forward(self, x):
        x = F.relu(self.conv3(F.relu(self.conv2(F.relu(self.conv1(x / 255.0))))))
        x = x.reshape(x.size(0), -1)
        a = self.advantage(x)
        return self.value(x) + a - a.mean(dim=1, keepdim=True)


class ActorCritic(nn.Module):
    def __init__(self, observations=11, actions=3):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(observations, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, actions)
        self.critic = nn.Linear(64, 1)
        self.log_std = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        x = self.shared(x)
        mean = self.actor(x)
        return mean + self.log_std.exp() * torch.randn_like(mean), self.critic(x).squeeze(-1)


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 16, 3, 2, 1)
        self.c2 = nn.Conv2d(16, 32, 3, 2, 1)
        self.c3 = nn.Conv2d(32, 64, 3, 2, 1)
        self.lat3 = nn.Conv2d(64, 24, 1)
        self.lat2 = nn.Conv2d(32, 24, 1)
        self.lat1 = nn.Conv2d(16, 24, 1)
        self.smooth = nn.Conv2d(24, 24, 3, padding=1)

    def forward(self, x):
        c1 = F.relu(self.c1(x))
        c2 = F.relu(self.c2(c1))
        c3 = F.relu(self.c3(c2))
        p3 = self.lat3(c3)
        p2 = self.lat2(c2) + F.interpolate(p3, scale_factor=2)
        p1 = self.lat1(c1) + F.interpolate(p2, scale_factor=2)
        return self.smooth(p1), self.smooth(p2), self.smooth(p3)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=4):
        super().__init__()
        self.fc1 = nn.Linear(channels, channels // reduction)
        self.fc2 = nn.Linear(channels // reduction, channels)

    def forward(self, x):
        b, c, _, _ = x.size()
        y = F.adaptive_avg_pool2d(x, 1).view(b, c)
        y = torch.sigmoid(self.fc2(F.relu(self.fc1(y)))).view(b, c, 1, 1)
        return x * y.expand_as(x)


class SmallSeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.se1 = SqueezeExcite(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, stride=2)
        self.se2 = SqueezeExcite(32, 8)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.se1(F.relu(self.conv1(x)))
        x = self.se2(F.relu(self.conv2(x)))
        return self.fc(x.amax((2, 3)))


class ConvNextBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(1e-6 * torch.ones(dim))

    def forward(self, x):
        y = self.dwconv(x).permute(0, 2, 3, 1)
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


class SmallConvNext(nn.Module):
    def __init__(self, dims=(16, 32)):
        super().__init__()
        self.stem = nn.Conv2d(3, dims[0], 4, 4)
        self.stage1 = ConvNextBlock(dims[0])
        self.down = nn.Sequential(nn.GroupNorm(4, dims[0]), nn.Conv2d(dims[0], dims[1], 2, 2))
        self.stage2 = ConvNextBlock(32)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(dims[-1], 10)

    def forward(self, x):
        x = self.stage2(self.down(self.stage1(self.stem(x))))
        return self.head(self.norm(x.mean([-2, -1])))


class GatedWaves(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Conv1d(1, 16, 1)
        self.dilated = nn.ModuleList([nn.Conv1d(16, 32, 2, dilation=2**i, padding=2**i) for i in range(4)])
        self.skips = nn.ModuleList([nn.Conv1d(16, 24, 1) for _ in range(4)])
        self.residuals = nn.ModuleList([nn.Conv1d(16, 16, 1) for _ in range(4)])
        self.end1 = nn.Conv1d(24, 32, 1)
        self.end2 = nn.Conv1d(32, 64, 1)

    def forward(self, x):
        x = self.start(x)
        total = 0
        for dilated, skip, residual in zip(self.dilated, self.skips, self.residuals, strict=True):
            out = dilated(x)[:, :, : x.size(2)]
            a, b = out.chunk(2, dim=1)
            out = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(out)
            x = x + residual(out)
        return self.end2(F.relu(self.end1(F.relu(total))))


class Crnn(nn.Module):
    def __init__(self, classes=37):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 32, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(32, 64, 3, 1, 1),
            nn.ReLU(True),
            nn.MaxPool2d((2, 1), (2, 1)),
            nn.Conv2d(64, 64, (8, 1)),
        )
        self.rnn = nn.LSTM(64, 32, bidirectional=True)
        self.embedding = nn.Linear(64, classes)

    def forward(self, x):
        conv = self.cnn(x).squeeze(2).permute(2, 0, 1)
        recurrent, _ = self.rnn(conv)
        t, b, h = recurrent.size()
        return self.embedding(recurrent.view(t * b, h)).view(t, b, -1)


class StyleBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, 1, 1)
        self.in1 = nn.InstanceNorm2d(channels, affine=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1)
        self.in2 = nn.InstanceNorm2d(channels, affine=True)

    def forward(self, x):
        out = F.relu(self.in1(self.conv1(x)))
        return self.in2(self.conv2(out)) + x


class StyleTransfer(nn.Module):
    def __init__(self):
        super().__init__()
        self.pad = nn.ReflectionPad2d(4)
        self.conv1 = nn.Conv2d(3, 16, 9)
        self.in1 = nn.InstanceNorm2d(16, affine=True)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.in2 = nn.InstanceNorm2d(32, affine=True)
        self.res = nn.Sequential(StyleBlock(32), StyleBlock(32))
        self.up = nn.Upsample(scale_factor=2)
        self.conv3 = nn.Conv2d(32, 16, 3, padding=1)
        self.conv4 = nn.Conv2d(16, 3, 9, padding=4)

    def forward(self, x):
        y = F.relu(self.in1(self.conv1(self.pad(x))))
        y = self.res(F.relu(self.in2(self.conv2(y))))
        return self.conv4(F.relu(self.conv3(self.up(y))))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 64, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(64, 32, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(32, 9, (3, 3), (1, 1), (1, 1))
        self.shuffle = nn.PixelShuffle(3)
        self.last = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.last(self.shuffle(self.conv3(x)))


class Recommender(nn.Module):
    def __init__(self, users=30, items=40):
        super().__init__()
        self.user_gmf = nn.Embedding(users, 8)
        self.item_gmf = nn.Embedding(items, 8)
        self.user_mlp = nn.Embedding(users, 16)
        self.item_mlp = nn.Embedding(items, 16)
        self.mlp = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.out = nn.Linear(16, 1)

    def forward(self, user, item):
        gmf = self.user_gmf(user) * self.item_gmf(item)
        mlp = self.mlp(torch.cat([self.user_mlp(user), self.item_mlp(item)], dim=-1))
        return torch.sigmoid(self.out(torch.cat((gmf, mlp), dim=-1))).view(-1)


class FactorMachine(nn.Module):
    def __init__(self, fields=6, dim=8):
        super().__init__()
        self.embedding = nn.Embedding(100, dim)
        self.linear = nn.Embedding(100, 1)
        self.mlp = nn.Sequential(nn.Linear(48, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))

    def forward(self, ids):
        e = self.embedding(ids)
        square = e.sum(1).pow(2) - e.pow(2).sum(1)
        deep = self.mlp(e.view(-1, 6 * 8))
        return self.linear(ids).sum(1) + 0.5 * square.sum(1, keepdim=True) + deep


class CrossAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Linear(20, 32)
        self.text = nn.Embedding(90, 32)
        self.attn = nn.MultiheadAttention(32, 4, batch_first=True)
        self.norm = nn.LayerNorm(32)
        self.ffn = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
        self.score = nn.Linear(32, 1)

    def forward(self, regions, ids):
        r, t = self.image(regions), self.text(ids)
        x, _ = self.attn(t, r, r)
        x = self.norm(x + t)
        x = x + self.ffn(x)
        return self.score(x[:, 0]).squeeze(1)


class WordTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = nn.Embedding(80, 32)
        self.target = nn.Embedding(80, 32)
        self.core = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)
        self.out = nn.Linear(32, 80)

    def forward(self, source, target):
        return self.out(self.core(self.source(source), self.target(target)))


class TimeConditioned(nn.Module):
    def __init__(self, a, b, time):
        super().__init__()
        self.conv1 = nn.Conv2d(a, b, 3, padding=1)
        self.time = nn.Linear(time, b)
        self.norm = nn.GroupNorm(4, b)
        self.conv2 = nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        h = F.silu(self.conv1(x)) + self.time(t)[:, :, None, None]
        return self.conv2(F.silu(self.norm(h))) + self.skip(x)


class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.inp = nn.Conv2d(3, 16, 3, padding=1)
        self.down = TimeConditioned(16, 32, 32)
        self.mid = TimeConditioned(32, 32, 32)
        self.up = TimeConditioned(64, 16, 32)
        self.out = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, x, t):
        angles = t[:, None] * torch.exp(torch.arange(8) * -0.5)[None]
        emb = self.time(torch.cat([angles.sin(), angles.cos()], dim=-1))
        h1 = self.down(self.inp(x), emb)
        h2 = self.mid(F.avg_pool2d(h1, 2), emb)
        h2 = F.interpolate(h2, scale_factor=2.0, mode="nearest")
        return self.out(self.up(torch.cat([h1, h2], dim=1), emb))


class ShuffleUnit(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            nn.Conv2d(half, half, 1), nn.Conv2d(half, half, 3, 1, 1, groups=half), nn.Conv2d(half, half, 1)
        )

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        x = torch.cat((a, self.branch(b)), dim=1)
        n, c, h, w = x.size()
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


class SmallShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 24, 3, 2, 1)
        self.stage = nn.Sequential(ShuffleUnit(24), ShuffleUnit(24))
        self.last = nn.Conv2d(24, 48, 1)
        self.fc = nn.Linear(48, 10)

    def forward(self, x):
        x = self.last(self.stage(self.conv(x)))
        return self.fc(x.mean([2, 3]))


class Capsules(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 9)
        self.primary = nn.ModuleList([nn.Conv2d(32, 8, 9, stride=2) for _ in range(4)])
        self.W = nn.Parameter(torch.randn(1, 144, 10, 8, 6))

    def forward(self, x):
        x = F.relu(self.conv(x))
        u = [capsule(x).view(x.size(0), 36, 8) for capsule in self.primary]
        u = torch.cat(u, dim=1)[:, :, None, None, :]
        predicted = torch.matmul(u, self.W).squeeze(3)
        return predicted.sum(dim=1).norm(dim=-1)


class VideoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv3d(3, 8, (3, 7, 7), stride=(1, 2, 2), padding=(1, 3, 3))
        self.bn1 = nn.BatchNorm3d(8)
        self.pool = nn.MaxPool3d(2)
        self.conv2 = nn.Conv3d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = F.adaptive_avg_pool3d(self.conv2(x), 1)
        return self.fc(torch.flatten(x, start_dim=1))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 12)) for _ in range(4)])
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outputs = torch.stack([expert(x) for expert in self.experts], dim=1)
        return self.head((weights.unsqueeze(-1) * outputs).sum(1))


class Highway(nn.Module):
    def __init__(self, size=24, layers=2):
        super().__init__()
        self.nonlinear = nn.ModuleList([nn.Linear(size, size) for _ in range(layers)])
        self.gate = nn.ModuleList([nn.Linear(size, size) for _ in range(layers)])
        self.last = nn.Linear(24, 4)

    def forward(self, x):
        for nonlinear, gate in zip(self.nonlinear, self.gate, strict=True):
            g = torch.sigmoid(gate(x))
            x = g * F.relu(nonlinear(x)) + (1 - g) * x
        return self.last(x)


class CellLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = 20
        self.cell = nn.LSTMCell(10, 20)
        self.decode = nn.Sequential(nn.Linear(20, 15), nn.Dropout(0.1), nn.Linear(15, 2))

    def forward(self, x):
        h = torch.zeros(x.size(0), self.hidden)
        c = torch.zeros(x.size(0), self.hidden)
        outputs = []
        for step in range(6):
            h, c = self.cell(x[:, step], (h, c))
            outputs.append(self.decode(h))
        return torch.stack(outputs, dim=1)


class Audio(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, kernel_size=80, stride=16)
        self.bn1 = nn.BatchNorm1d(16)
        self.pool1 = nn.MaxPool1d(4)
        self.conv2 = nn.Conv1d(16, 32, kernel_size=3)
        self.bn2 = nn.BatchNorm1d(32)
        self.pool2 = nn.AvgPool1d(4)
        self.fc = nn.Linear(32, 35)

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.bn2(self.conv2(x))))
        x = F.avg_pool1d(x, x.shape[-1]).permute(0, 2, 1)
        return F.log_softmax(self.fc(x), dim=2)


INPUTS: dict[str, tuple[str, ...]] = {
    "LeNet": ("2x1x32x32",),
    "AlexNet": ("2x3x127x127",),
    "SmallResNet": ("2x3x64x64",),
    "SmallUnet": ("2x1x32x48",),
    "SmallDenseNet": ("2x3x16x16",),
    "SmallMobileNet": ("2x3x32x32",),
    "SmallSqueezeNet": ("2x3x64x64",),
    "SmallGoogLeNet": ("2x3x16x16",),
    "PatchTransformer": ("2x3x32x32",),
    "SmallGpt": ("2x11:int64",),
    "Tagger": ("3x9:int64",),
    "LastState": ("9x3x12",),
    "Seq2Seq": ("3x9:int64", "3x7:int64"),
    "CharCnn": ("3x17:int64",),
    "ImageVae": ("3x1x28x28",),
    "Generator": ("3x64x1x1",),
    "Discriminator": ("3x3x32x32",),
    "PlainAutoencoder": ("3x1x28x28",),
    "PointCloud": ("3x3x50",),
    "TemporalNet": ("3x4x33",),
    "SmallGcn": ("9x16", "9x9"),
    "SmallMixer": ("3x3x32x32",),
    "Siamese": ("3x1x20x20", "3x1x20x20"),
    "QNetwork": ("3x4x84x84",),
    "ActorCritic": ("5x11",),
    "Pyramid": ("2x3x32x32",),
    "SmallSeNet": ("2x3x13x13",),
    "SmallConvNext": ("2x3x32x32",),
    "GatedWaves": ("2x1x40",),
    "Crnn": ("2x1x32x40",),
    "StyleTransfer": ("2x3x24x24",),
    "SuperResolution": ("2x1x14x14",),
    "Recommender": ("5:int64", "5:int64"),
    "FactorMachine": ("5x6:int64",),
    "CrossAttention": ("2x7x20", "2x9:int64"),
    "WordTransformer": ("2x9:int64", "2x7:int64"),
    "Diffusion": ("2x3x16x16", "2:float32"),
    "SmallShuffleNet": ("2x3x16x16",),
    "Capsules": ("2x1x28x28",),
    "VideoNet": ("2x3x6x32x32",),
    "Experts": ("5x16",),
    "Highway": ("5x24",),
    "CellLoop": ("3x6x10",),
    "Audio": ("2x1x4000",),
}
"""By model: what it takes."""
