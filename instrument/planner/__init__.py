"""Usage of the person's own agent sessions on this machine: counts, never content."""
