"""The same tasks by several agents: which of their work is accepted, in what time, at what cost."""
