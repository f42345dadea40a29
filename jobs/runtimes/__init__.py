"""Adapters of agent programs: one file a program, one row in `table.py`."""
