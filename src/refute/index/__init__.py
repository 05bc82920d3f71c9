"""Static indexes over points with integer coordinates: k-d trees, pairs of them, and range trees."""
