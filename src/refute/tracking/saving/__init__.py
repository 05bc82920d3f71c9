"""What a tracker knows on disk: as files, as differences in a log, and back."""
