"""What every part of a trace needs: tensors and their facts, sites, failures, patches, threads."""
