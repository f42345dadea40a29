"""Which turn of the story a request gets.

Pure: no I/O. The API's form has read the request and will write the answer.
"""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

import orjson

from proxy.scripted.form import Answer, Asked
from proxy.scripted.story import Story, StoryError, Turn
from proxy.scripted.tools import call_for

NOTHING_GIVEN: Mapping[int, int] = MappingProxyType({})
_CUT_FILLER = "This answer will not be whole. " * 200


def answer_to(
    story: Story, role: str, story_round: int, asked: Asked, n: int, given: Mapping[int, int] = NOTHING_GIVEN
) -> Answer:
    """Choose the answer: by the number of the model's turns, so that a retry gets the same one.

    Args:
        story: Holds the turns.
        role: Of the job.
        story_round: Of the role.
        asked: The request.
        n: Its number.
        given: How often each turn was given before; absent: never.

    Raises:
        StoryError: The story has no answer to this.
    """
    model = story.model or asked.model
    if not asked.tools:
        return Answer(n, model, "ok", None, story.aux_usage, None, None)
    turns = story.turns_of(role, story_round)
    left = [at for at, turn in enumerate(turns) if turn.times is None or given.get(at, 0) < turn.times]
    if not left:
        raise StoryError(f"The story's turns for the {role} are used up: add one without times.")
    index = left[min(asked.turns, len(left) - 1)]
    turn = _fill(turns[index], story, asked.said)
    text = turn.finish if turn.finish is not None else turn.say
    call = call_for(turn, asked.tools, asked.context)
    if text is None and call is None:
        text = _CUT_FILLER
    return Answer(n, turn.model or model, text, call, turn.usage or story.aux_usage, turn, index)


def _fill(turn: Turn, story: Story, said: tuple[str, ...]) -> Turn:
    """The turn with every `{{name}}` replaced by what its pattern finds last in the user messages."""
    text = turn.model_dump_json()
    used = [name for name in story.captures if "{{" + name + "}}" in text]
    if not used:
        return turn
    for name in used:
        found = re.findall(story.captures[name], "\n".join(said))
        if not found:
            raise StoryError(f"The capture {name} of the story is found nowhere in the request.")
        # Into JSON text, so with JSON's own escapes.
        text = text.replace("{{" + name + "}}", orjson.dumps(found[-1]).decode()[1:-1])
    return Turn.model_validate_json(text)


def count_input_tokens(body: bytes) -> int:
    """A count_tokens answer: a round guess, as good as any."""
    return math.ceil(len(body) / 4)
