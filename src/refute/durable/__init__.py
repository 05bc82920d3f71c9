"""A folder that outlives its process: files that never change, a log of what came since, and a manifest of both.

`manifest.json` names the files of a whole state, and the first log whose batches come after it. A commit appends one
frame to the newest log and waits until it is on the disk. From time to time a thread writes the state as it was at some
moment, while batches go on into a log of their own; once its manifest stands, older files are removed. A process that
is killed at any point leaves a manifest and logs that give the last batch that was acknowledged, and no other.
"""
