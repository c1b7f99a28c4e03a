"""The two networks of a GAN in one file: neither is a part of the other, so both are root models.

The generator turns a noise vector into a 16×16 image with transposed convolutions, the discriminator turns such an
image into one score. Training them is left out; what matters here is that one file gives two graphs.
"""

import torch.nn as nn

LATENT = 32
FEATURES = 16


class Generator(nn.Module):
    def __init__(self, latent=LATENT, features=FEATURES):
        super().__init__()
        self.features = features
        self.project = nn.Linear(latent, 2 * features * 4 * 4)
        self.main = nn.Sequential(
            nn.BatchNorm2d(2 * features),
            nn.ReLU(True),
            nn.ConvTranspose2d(2 * features, features, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(features),
            nn.ReLU(True),
            nn.ConvTranspose2d(features, 1, 4, stride=2, padding=1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        x = self.project(z)
        x = x.view(x.size(0), 2 * self.features, 4, 4)
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, features=FEATURES):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, features, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(features, 2 * features, 4, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(2 * features),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(2 * features, 1, 4),
        )

    def forward(self, image):
        return self.main(image).flatten(1)
