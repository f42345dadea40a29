"""Keys of effects: the name under which performing twice finds what is there.

Pure: no I/O.
"""

import hashlib
import json

from instrument.schema.state import Ruling, TaskState
from instrument.schema.vocabulary import EffectKind

DIGEST_DIGITS = 8
TOKEN_DIGITS = 16


def effect_number(state: TaskState, kind: EffectKind) -> int:
    """The `n` of this kind's next key, or of the attempt under way."""
    begun = state.counters.effects.get(kind, 0)
    is_under_way = state.attempt is not None and state.attempt.kind is kind
    return begun if is_under_way else begun + 1


def effect_key(state: TaskState, kind: EffectKind, *works_on: str | None) -> str:
    """`<task-id>-<effect>-<n>-<h>`: an old gate's pass cannot answer for a rebased tree.

    Args:
        state: The task.
        kind: The effect.
        works_on: Base commit, tree id, image id: whatever makes it this work and no other.
    """
    material = "\0".join("" if part is None else part for part in works_on)
    digest = hashlib.sha256(material.encode()).hexdigest()[:DIGEST_DIGITS]
    return f"{state.task_id}-{kind.slug}-{effect_number(state, kind)}-{digest}"


def prompt_inputs(state: TaskState) -> str:
    """Digest of everything in the state that a prompt is composed of.

    The prompt itself is a pure function of these and of the task's text, so that this
    digest stands for the prompt's without composing it.
    """
    parts: list[str] = [state.task_blob, state.previous_task_blob or "", state.summary]
    parts += [_ruling_input(ruling) for ruling in state.rulings]
    models = (*state.failures, *state.findings, *state.decisions, *state.checked)
    parts += [json.dumps(model.model_dump(mode="json")) for model in models]  # escapes lone surrogates
    parts += (*state.could_not_verify, state.declared, *state.compared, *state.flaky, *state.allowed)
    parts.append(state.conflict_commit or "")
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _ruling_input(ruling: Ruling) -> str:
    """A person's is its text alone: keys of before there were others stay as they were."""
    by = ruling.by
    return ruling.digest if by is None else f"{ruling.digest} {by.step} {by.model or ''}"


def stop_inputs(state: TaskState) -> str:
    """What a model is told of the stop that it looks into, beside `prompt_inputs`: JSON."""
    climb = state.climb
    models = (*((climb.stop,) if climb else ()), *state.tried)
    return json.dumps([model.model_dump(mode="json") for model in models])


def review_token(state: TaskState, key: str) -> str:
    """The word that marks one review's verdict; a coder can neither know nor guess it."""
    return hashlib.sha256(f"{state.nonce}\0{key}".encode()).hexdigest()[:TOKEN_DIGITS]
