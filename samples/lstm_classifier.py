"""A bidirectional LSTM that classifies a sequence of token ids, and hands back its state.

The output is nested: logits, and a tuple `(hidden, cell)` of tensors. The state is also an optional input, so that
a long text can be read in pieces; without it the LSTM starts from zeros.
"""

import torch
from torch import nn

PAD = 0


class LSTMClassifier(nn.Module):
    def __init__(self, vocab_size=1000, embedding_dim=32, hidden_size=48, num_layers=2, num_classes=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=PAD)
        self.lstm = nn.LSTM(
            embedding_dim,
            hidden_size,
            num_layers=num_layers,
            batch_first=True,
            bidirectional=True,
            dropout=0.2 if num_layers > 1 else 0.0,
        )
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(2 * hidden_size, num_classes)

    def forward(self, tokens, state=None):
        embedded = self.dropout(self.embedding(tokens))
        _, (hidden, cell) = self.lstm(embedded, state)
        last = torch.cat((hidden[-2], hidden[-1]), dim=-1)  # the top layer, forwards and backwards
        return self.classifier(self.dropout(last)), (hidden, cell)
