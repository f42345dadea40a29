"""The story file: what the scripted provider answers, turn by turn.

Pure: no I/O. A round is told in turns, which become answers of whatever API is asked, or was recorded.
"""

import re
from typing import Annotated, Literal, Self

import orjson
import yaml
from pydantic import Field, JsonValue, NonNegativeInt, ValidationError, field_validator, model_validator

from instrument.schema.base import Frozen
from proxy.scripted.recording import RecordedAnswer


class StoryError(Exception):
    """The story cannot be used, or has no answer; the text is one sentence."""


class StoryUsage(Frozen):
    """Token figures of one answer; the buckets are disjoint, reasoning is inside output."""

    input: NonNegativeInt = 0
    """Tokens that no cache holds."""
    output: NonNegativeInt = 0
    cache_read: NonNegativeInt = 0
    cache_write_5m: NonNegativeInt = 0
    """Into the cache of five minutes."""
    cache_write_1h: NonNegativeInt = 0
    """Into the cache of an hour."""
    reasoning: NonNegativeInt = 0
    searches: NonNegativeInt = 0
    """Web searches; a chat answer can show no more than one."""
    tier: str | None = None
    """The service tier that the answer names; none: the provider's usual one."""
    speed: str | None = None
    place: str | None = None
    """As `inference_geo` in the answer; it and `speed` are Anthropic's alone, as are compactions."""
    compactions: tuple["StoryUsage", ...] = ()
    """Further iterations, which stand outside of the counts."""


class WriteFile(Frozen):
    """A file to write whole."""

    path: str
    content: str


class EditFile(Frozen):
    """A text to replace once in a file."""

    path: str
    old: str
    new: str


class StoryErrorAnswer(Frozen):
    """An error to answer with."""

    status: Annotated[int, Field(ge=400, le=599)]
    """Of HTTP."""
    type: str
    message: str
    retry_after: NonNegativeInt | None = None
    """Seconds, as a header."""
    after_events: NonNegativeInt | None = None
    """In a stream: so many events come first, and the error is one too; none: it is the answer's status."""


class Turn(Frozen):
    """One answer: one of run, read, write, edit, error, cut, lost, finish."""

    say: str | None = None
    """What the model says beside its action."""
    run: str | None = None
    """A shell line that the agent is told to run, with the tool that it has for that."""
    read: str | None = None
    """Path of a file to read."""
    write: WriteFile | None = None
    """A file that the agent is told to write."""
    edit: EditFile | None = None
    """A text that it is told to replace."""
    error: StoryErrorAnswer | None = None
    """An error instead of an answer."""
    cut: NonNegativeInt | None = None
    """Bytes of the answer's body after which the connection is dropped; also beside another action."""
    lost: Literal["closed", "reset", "silent"] | None = None
    """How it is dropped; without `cut`, before any byte of an answer. Silent: only the client can end it."""
    finish: str | None = None
    """The model's last words; the agent ends."""
    usage: StoryUsage | None = None
    """None: `aux_usage`."""
    raw_usage: dict[str, JsonValue] | None = None
    """The provider's own usage object, right or wrong, instead of `usage`; an empty one is left out."""
    model: str | None = None
    """The model id named in the answer; none: the story's."""
    times: Annotated[int, Field(ge=1)] | None = None
    """How often it is given, as to retries, before the turn behind it takes its place; none: always."""
    delay_ms: NonNegativeInt = 0
    """Before the answer begins."""
    event_delay_ms: NonNegativeInt = 0
    """Before each event of a stream."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a turn that would leave open what it does."""
        actions = [self.run, self.read, self.write, self.edit, self.error, self.finish]
        count = sum(action is not None for action in actions)
        if count > 1 or (count == 0 and self.cut is None and self.lost is None):
            raise ValueError(
                "a turn needs exactly one of run, read, write, edit, error, finish (or cut, or lost)"
            )
        has_more = (self.say, self.cut, self.lost) != (None, None, None)
        if self.error is not None and self.error.after_events is None and has_more:
            raise ValueError("an error turn has no say, no cut and no lost, unless it comes after_events")
        return self


class StoryRound(Frozen):
    """The answers of one role in one round, told or recorded; without `round`, of every round not named."""

    role: Literal["coder", "reviewer", "resolver"]
    round: Annotated[int, Field(ge=1)] | None = None
    """Counts from 1 for each role; none: every one that no other entry names, as the role's last entry."""
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)] | None = None
    """One a call of the model; the last one answers all further calls."""
    recorded: Annotated[tuple[RecordedAnswer, ...], Field(min_length=1)] | None = None
    """Played as they are, in their order, whatever is asked."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse a round that would leave open what it answers."""
        if (self.turns is None) == (self.recorded is None):
            raise ValueError("a round needs either turns or recorded")
        return self


class Story(Frozen):
    """The whole file."""

    model: str | None = None
    """The model id named in answers; none: the one asked for."""
    captures: Annotated[dict[str, str], Field(default_factory=dict)]
    """Name to a regular expression with one group, searched in the request's user messages."""
    aux_usage: StoryUsage = StoryUsage(input=10, output=2)
    """Of requests that offer no tools: an agent's side calls."""
    rounds: Annotated[tuple[StoryRound, ...], Field(min_length=1)]
    """One entry a job of an agent."""

    @field_validator("captures")
    @classmethod
    def _check_captures(cls, captures: dict[str, str]) -> dict[str, str]:
        """Refuse what would fail at the first request."""
        for name, pattern in captures.items():
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise ValueError(f"{name} is no regular expression: {error}") from None
            if groups != 1:
                raise ValueError(f"{name} needs exactly one group")
        return captures

    def turns_of(self, role: str, story_round: int) -> tuple[Turn, ...]:
        """The answers of one round; empty where they are recorded.

        Raises:
            StoryError: The story has none for it.
        """
        return self._find(role, story_round).turns or ()

    def recorded_of(self, role: str, story_round: int) -> tuple[RecordedAnswer, ...]:
        """The recorded answers of one round; empty where they are told, or where there is no such round."""
        try:
            return self._find(role, story_round).recorded or ()
        except StoryError:
            return ()

    def _find(self, role: str, story_round: int) -> StoryRound:
        """One round."""
        mine = [entry for entry in self.rounds if entry.role == role]
        for entry in mine:
            if entry.round == story_round:
                return entry
        if mine and mine[-1].round is None:
            return mine[-1]
        raise StoryError(f"The story has no round {story_round} for the {role}: add one to it.")


def load_story(text: str) -> Story:
    """Parse and check a story.

    Raises:
        StoryError: One sentence that names every wrong key by its path.
    """
    try:
        # Through JSON, since strict models take a list for a tuple from JSON only.
        return Story.model_validate_json(_to_json(text))
    except yaml.YAMLError as error:
        raise StoryError(f"The story is not YAML: {' '.join(str(error).split())}.") from None
    except (TypeError, orjson.JSONEncodeError):
        raise StoryError("The story holds a key or a value that JSON has not: quote it.") from None
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'the file'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False, include_context=False)
        )
        raise StoryError(f"The story is wrong at {faults}.") from None


def _to_json(text: str) -> bytes:
    """The story as JSON; a recording is that already, and too long for a YAML parser.

    Raises:
        yaml.YAMLError: It is neither.
        orjson.JSONEncodeError, TypeError: It holds what JSON cannot.
    """
    try:
        return orjson.dumps(orjson.loads(text))
    except orjson.JSONDecodeError:
        return orjson.dumps(yaml.safe_load(text))
