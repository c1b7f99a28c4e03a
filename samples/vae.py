"""A variational autoencoder that returns a dataclass.

Encoder and decoder are plain `Sequential`s; between them stands the reparameterisation, which is arithmetic on
tensors and a random draw, not a module. The module-level `example_inputs` says what a call looks like, so nothing
is inferred.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

example_inputs = (torch.zeros(1, 1, 28, 28),)


@dataclass
class VAEOutput:
    reconstruction: Tensor
    mean: Tensor
    log_variance: Tensor


class VAE(nn.Module):
    def __init__(self, image_size: int = 28, hidden: int = 128, latent: int = 16):
        super().__init__()
        pixels = image_size**2
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, hidden), nn.ReLU())
        self.to_mean = nn.Linear(hidden, latent)
        self.to_log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.ReLU(),
            nn.Linear(hidden, pixels),
            nn.Sigmoid(),
            nn.Unflatten(1, (1, image_size, image_size)),
        )

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        features = self.encoder(x)
        return self.to_mean(features), self.to_log_variance(features)

    def reparameterise(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        std = torch.exp(0.5 * log_variance)
        return mean + std * torch.randn_like(std)

    def forward(self, x: Tensor) -> VAEOutput:
        mean, log_variance = self.encode(x)
        z = self.reparameterise(mean, log_variance)
        return VAEOutput(self.decoder(z), mean, log_variance)
