"""Ways that Spark goes by itself, without a Python worker."""
