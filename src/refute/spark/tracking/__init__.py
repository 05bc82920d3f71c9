"""Rules of a Spark table kept current: rows stay partitioned, a change meets them in one pass, points come here."""
