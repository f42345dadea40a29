"""Tasks on a durable engine: the loop's machine, driven by Temporal workflows."""
