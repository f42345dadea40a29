"""Small things to do with words."""
