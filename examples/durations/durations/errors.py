"""The one error of this package."""


class DurationError(ValueError):
    """A text is not a duration; the message says which part is wrong."""
