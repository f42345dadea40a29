"""The wire protocols of providers: one module each, all of the shape in `wire.py`."""
