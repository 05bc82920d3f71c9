"""The indexes of a monitor: which pairs appear and vanish when rows come and go."""
