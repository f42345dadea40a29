"""`factory doctor`: whether the factory works here, on this repo; nothing is changed."""
