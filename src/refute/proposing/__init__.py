"""The rules that people would write, although some rows break them: found by how many rows are to blame for each."""
