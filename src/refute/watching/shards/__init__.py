"""The rows of a watch where the data is: in shards, each of which a task has to itself while it takes a batch in.

*Keepers* hold whole rows by key. They say what a batch amounts to: which rows go, which come, and whether a key is not
as it should be. Other shards hold what a group of rules reads. All rows that agree on what these rules hold equal are
in one *bucket*, so all pairs that can clash are there; a bucket that is too large for one task, as of rules without an
equality, has several *parts*. A row is in one part and is held against all, such that each pair is found once
(`state.py` says why). A shard is a State of a monitor, and its kernels find the pairs.

On the disk a shard is its rows at some moment, and the changes since, by key: files that never change, one for each
task and batch. What names them is the commit of the batch. A task that fails, or runs twice, leaves files that no
commit names, and the shard in its memory belongs to no commit, so nobody uses either.
"""
