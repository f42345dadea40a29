"""A provider that answers from a story: for tests, demos and canaries, on the real one's code path."""
