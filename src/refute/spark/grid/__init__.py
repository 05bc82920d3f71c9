"""Rules that need the kernels, over tables that fit no process: who meets whom, and what tiles alone settle.

Small groups of rows with equal keys go to tasks whole. Each order predicate is an axis, and the values of each large
group are cut into tiles along it. A pair that satisfies the rule has, on each axis, tiles in the right order, and the
predicate holds without looking, or equal tiles that leave it open. Let j be the first axis with equal open tiles: that
class of pairs is found by tasks that get the rows of one tile of axis j, and compare tiles before j and values from j
on. Pairs with no such axis are settled by their cells, the combinations of tiles, alone. Any cuts are exact; only the
balance of tasks depends on the sample that they come from.
"""
