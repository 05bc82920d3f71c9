"""Ways to answer a rule on Spark, and the one that is taken."""
