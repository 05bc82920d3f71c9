"""IncDC's way to find what new rows break: indexes chosen for the rules, and evidence of candidate pairs alone.

Qian, Li, Tan, Ran, Ma: Incremental discovery of denial constraints, VLDB Journal 2023. What is done otherwise, and why:

- Index keys are codes that never change their order. The published code keeps ranks of the first rows and asks by ranks
  of all rows, so it overlooks broken rules.
- Rows that have the same value where an index asks for `<` never follow each other: sorted as in Algorithm 3, line 1,
  they would. The coefficient of correlation is that of Pearson; the formula in print lacks the number of rows.
- A rule with `!=` is not doubled: one index answers for both orders, and counts as many rules as there would be.
- Boxes that no index serves, such as rules about one row, are left to the general mechanism, and so are rows that go.
- A batch is fetched at once against the rows that were there, and by an index of its own among itself, rather than row
  by row. Each chain is an array in place of a skip list: rows are found in logarithmic time, and inserted by a copy.
"""
