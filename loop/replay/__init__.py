"""`factory replay`: the repository's own history, carried as a run carries a coder's work."""
