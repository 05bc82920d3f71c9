"""Violations of a stream: batches that come with a number, each taken once, and what readers see of them.

`DIR/state` is a folder of `durable`, as a monitor has it. A commit there holds the rows of a batch, the number of the
batch, the stream that it belongs to, and the name of the table of violations: all of it or nothing. What readers see is
written before that commit under names that they do not look at, and shown after it; a process that is killed in between
leaves what the next one needs to show it.
"""
