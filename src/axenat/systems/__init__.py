"""Translation systems: each folder is one, with its settings, network, loss, decoding and place in the paper."""
