"""What readers see of a watch: tables of violations, feeds of changes, and who writes them."""
