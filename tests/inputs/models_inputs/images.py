"""Models of images, as people write them."""
# ruff: noqa: B905, E741, RUF059

import torch
import torch.nn as nn
import torch.nn.functional as F


class MnistView(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.drop = nn.Dropout2d()
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.drop(self.conv2(x)), 2))
        x = x.view(-1, 320)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


class CifarTutorial(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class MnistPadded(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, img):
        return self.classifier(self.features(img))


class FlatMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(28 * 28, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        b, c, h, w = x.shape
        return self.net(x.view(b, -1))


class ViewMinusOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8 * 16 * 16, 10)

    def forward(self, x):
        return self.fc(F.relu(self.c(x)).view(-1, 8 * 16 * 16))


class UNet(nn.Module):
    def __init__(self, ch=(3, 8, 16)):
        super().__init__()
        self.d1 = nn.Conv2d(ch[0], ch[1], 3, padding=1)
        self.d2 = nn.Conv2d(ch[1], ch[2], 3, padding=1)
        self.up = nn.ConvTranspose2d(ch[2], ch[1], 2, stride=2)
        self.u1 = nn.Conv2d(2 * ch[1], ch[1], 3, padding=1)
        self.out = nn.Conv2d(ch[1], 1, 1)

    def forward(self, x):
        a = F.relu(self.d1(x))
        b = F.relu(self.d2(F.max_pool2d(a, 2)))
        return self.out(F.relu(self.u1(torch.cat([a, self.up(b)], dim=1))))


class ConvAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 7)
        )
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(64, 32, 7),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 3, 2, 1, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 3, 2, 1, 1),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 40)
        self.fc21 = nn.Linear(40, 5)
        self.fc22 = nn.Linear(40, 5)
        self.fc3 = nn.Linear(5, 40)
        self.fc4 = nn.Linear(40, 784)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


class ConvVae(nn.Module):
    def __init__(self, latent_dim=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU())
        self.mu = nn.Linear(32 * 16 * 16, latent_dim)
        self.lv = nn.Linear(32 * 16 * 16, latent_dim)
        self.fc = nn.Linear(latent_dim, 32 * 16 * 16)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Sigmoid()
        )

    def forward(self, x):
        h = self.enc(x).flatten(1)
        mu, lv = self.mu(h), self.lv(h)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(self.fc(z).view(-1, 32, 16, 16)), mu, lv


class DcganGenerator(nn.Module):
    def __init__(self, nz=100, ngf=8, nc=3):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, noise):
        return self.main(noise)


class DcganDiscriminator(nn.Module):
    def __init__(self, nc=3, ndf=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(nc, ndf, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ndf * 4, 1, 8, 1, 0),
            nn.Sigmoid(),
        )
        self.head = nn.Linear(1, 1)

    def forward(self, input):
        return self.head(self.main(input).view(-1, 1))


class ConditionalGenerator(nn.Module):
    def __init__(self, n_classes=10, latent=20):
        super().__init__()
        self.emb = nn.Embedding(n_classes, n_classes)
        self.net = nn.Sequential(nn.Linear(latent + n_classes, 32), nn.ReLU(), nn.Linear(32, 784), nn.Tanh())

    def forward(self, z, labels):
        x = torch.cat([z, self.emb(labels)], dim=1)
        return self.net(x).view(x.size(0), 1, 28, 28)


class ViT(nn.Module):
    def __init__(self, img=32, patch=4, dim=48, depth=2, heads=4):
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(3 * patch * patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, (img // patch) ** 2 + 1, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 96, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(dim, 10)

    def forward(self, x):
        p = self.patch
        b, c, h, w = x.shape
        x = x.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        x = self.proj(x)
        x = torch.cat([self.cls.expand(b, -1, -1), x], dim=1) + self.pos
        return self.head(self.blocks(x)[:, 0])


class AssertingPatch(nn.Module):
    def __init__(self, size=96, width=24):
        super().__init__()
        self.expected = (size, size)
        self.proj = nn.Conv2d(3, width, 16, 16)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        assert tuple(x.shape[-2:]) == self.expected
        return self.norm(self.proj(x).flatten(2).transpose(1, 2)).mean(1)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.fc = nn.Linear(16 * 22 * 22, 32)

    def once(self, x):
        return self.fc(self.cnn(x).view(x.size(0), -1))

    def forward(self, x1, x2):
        return F.pairwise_distance(self.once(x1), self.once(x2))


class Triplet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
        )

    def forward(self, anchor, positive, negative):
        return self.embed(anchor), self.embed(positive), self.embed(negative)


class DiffusionUNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.dim = dim
        self.time_mlp = nn.Sequential(nn.Linear(dim, dim * 4), nn.SiLU(), nn.Linear(dim * 4, dim))
        self.inc = nn.Conv2d(1, dim, 3, padding=1)
        self.down = nn.Conv2d(dim, dim, 4, 2, 1)
        self.up = nn.ConvTranspose2d(dim, dim, 4, 2, 1)
        self.out = nn.Conv2d(dim * 2, 1, 1)

    def pos(self, t):
        half = self.dim // 2
        freqs = torch.exp(-torch.arange(half, device=t.device) / half)
        args = t[:, None].float() * freqs[None]
        return torch.cat([args.sin(), args.cos()], -1)

    def forward(self, x, t):
        emb = self.time_mlp(self.pos(t))[:, :, None, None]
        a = self.inc(x)
        b = self.down(a) + emb
        return self.out(torch.cat([self.up(b), a], 1))


class Video3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv3d(3, 8, 3, padding=1)
        self.p = nn.AdaptiveAvgPool3d(1)
        self.fc = nn.Linear(8, 5)

    def forward(self, clip):
        return self.fc(self.p(F.relu(self.c(clip))).flatten(1))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv3d(1, 4, 3, 2, 1)
        self.c2 = nn.Conv3d(4, 8, 3, 2, 1)
        self.fc = nn.Linear(8 * 4 * 4 * 4, 2)

    def forward(self, x):
        return self.fc(torch.flatten(F.relu(self.c2(F.relu(self.c1(x)))), 1))


class AtariPolicy(nn.Module):
    def __init__(self, n_actions=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Conv2d(32, 32, 3, 1), nn.ReLU()
        )
        self.actor = nn.Linear(32 * 7 * 7, n_actions)
        self.critic = nn.Linear(32 * 7 * 7, 1)

    def forward(self, obs):
        h = self.conv(obs.float() / 255.0).reshape(obs.shape[0], -1)
        return self.actor(h), self.critic(h)


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.lateral = nn.ModuleList([nn.Conv2d(c, 8, 1) for c in (16, 32, 64)])

    def forward(self, feats: list[torch.Tensor]):
        outs = [l(f) for l, f in zip(self.lateral, feats)]
        return [outs[i] for i in range(len(self.lateral))]


class Detector(nn.Module):
    """Takes any size; decides by values which boxes stay."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, 4, 1)
        self.boxes = nn.Conv2d(8, 4, 1)
        self.scores = nn.Conv2d(8, 1, 1)

    def forward(self, images):
        f = F.relu(self.backbone(images))
        boxes = self.boxes(f).flatten(2).transpose(1, 2)[0]
        scores = self.scores(f).flatten()
        keep = scores.topk(min(100, scores.numel())).indices
        kept = boxes[keep]
        return kept[scores[keep] > scores.mean()]


MODELS = [
    MnistView,
    CifarTutorial,
    MnistPadded,
    FlatMlp,
    ViewMinusOne,
    UNet,
    ConvAutoencoder,
    Vae,
    ConvVae,
    DcganGenerator,
    DcganDiscriminator,
    ConditionalGenerator,
    ViT,
    AssertingPatch,
    Siamese,
    Triplet,
    DiffusionUNet,
    Video3d,
    Volume,
    AtariPolicy,
    Pyramid,
    Detector,
]
INTENDED = {
    "MnistView": {"x": (1, 1, 28, 28)},
    "CifarTutorial": {"x": (1, 3, 32, 32)},
    "MnistPadded": {"img": (1, 1, 28, 28)},
    "FlatMlp": {"x": (1, 1, 28, 28)},
    "ViewMinusOne": {"x": (1, 3, 32, 32)},
    "DcganGenerator": {"noise": (1, 100, 1, 1)},
    "DcganDiscriminator": {"input": (1, 3, 64, 64)},
    "ConditionalGenerator": {"z": (1, 20), "labels": (1,)},
    "ViT": {"x": (1, 3, 32, 32)},
    "AssertingPatch": {"x": (1, 3, 96, 96)},
    "Siamese": {"x1": (1, 1, 100, 100), "x2": (1, 1, 100, 100)},
    "ConvVae": {"x": (1, 3, 64, 64)},
    "AtariPolicy": {"obs": (1, 4, 84, 84)},
    "Volume": {"x": (1, 1, 16, 16, 16)},
}
