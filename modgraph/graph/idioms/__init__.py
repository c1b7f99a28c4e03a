"""What readers know by a name, found by the way data takes: multi-head attention, gated MLP, experts, U-Net.

Names of classes, attributes and files say nothing; what is not certain proves nothing. `finding.find` is the way in.
"""
