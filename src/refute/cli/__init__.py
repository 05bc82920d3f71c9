"""The command `refute`: the only place that writes to the terminal."""
