"""Makes a slug of a title, such as `a-long-way` of `A long way!`."""


def slug(title: str) -> str:
    """Lower-case letters and digits, with single dashes between words."""
    return "".join(char if char.isalnum() else "-" for char in title.lower())
