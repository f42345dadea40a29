"""The errors of this package.

    JobsError
    ├── EngineUnavailableError   no engine answers, or it went away: `runner_unavailable`
    ├── EngineRefusedError       the engine answered with an error that is none of the known ones
    │   ├── ObjectAbsentError    no such container, volume, image or path
    │   ├── NameTakenError       another object has this name
    │   └── ImageGoneError       the image that a job starts from was removed: set up again
    └── ImageUnfitError          an image cannot be built or is not what a job needs: `image_unfit`

What an agent did wrong is never here: it is a value in `JobEnd`.
"""

from instrument.schema.job import JobEnd


class JobsError(Exception):
    """Base of what can go wrong on our side; the text is one sentence for a person."""


class EngineUnavailableError(JobsError):
    """No Docker Engine answers at the configured address."""


class EngineRefusedError(JobsError):
    """The engine refused an operation that should work."""


class ObjectAbsentError(EngineRefusedError):
    """The engine knows no such container, volume, image or path; stays inside this package."""


class NameTakenError(EngineRefusedError):
    """Another object has this name; stays inside this package unless it is not ours."""


class ImageGoneError(EngineRefusedError):
    """The image that a job starts from is no longer on the engine: `set_up` makes it again."""


class ImageUnfitError(JobsError):
    """An image cannot be built, or a set-up command failed in it."""

    def __init__(self, message: str, *, evidence: str | None = None, end: JobEnd | None = None) -> None:
        super().__init__(message)
        self.evidence = evidence
        """Path of a file with the command's output, for the brief; none where there is none."""
        self.end = end
        """How the set-up job ended; none where there was none."""
