"""What every picture, page and table shares: labels, colours, widths, what stands for what."""
