"""Static indexes over points with integer coordinates: forests of k-d trees, two of them at once, and range trees."""
