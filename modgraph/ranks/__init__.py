"""Several processes, one graph: a graph of each rank -> Graph. Neither torch nor files."""

from modgraph.ranks.merging import merge_ranks as merge_ranks
