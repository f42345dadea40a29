"""What the effect under way found out, whole, beside the task's state.

What travels through the engine is less: a transcript stays here. Limits: one file a task; the caller
holds the task's lock.
"""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from engine.messages import AnyFacts
from instrument.schema.transcript import Transcript
from loop.atomic import write_atomic
from loop.machine.facts import JobFacts, ResolveFacts, ReviewFacts
from loop.store import StateCorruptError

FACTS_FILE = "facts.json"
_FACTS: TypeAdapter[AnyFacts] = TypeAdapter(AnyFacts)


def keep_facts(folder: Path, facts: AnyFacts) -> None:
    """Keep them until the next effect's come."""
    write_atomic(folder / FACTS_FILE, _FACTS.dump_json(facts))


def kept_facts(folder: Path, key: str) -> AnyFacts | None:
    """What answers this key; none: nothing does.

    Raises:
        StateCorruptError: The file cannot be read.
    """
    path = folder / FACTS_FILE
    try:
        facts = _FACTS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        why = "is damaged, or another version's: put that version back, or cancel the task and delete it"
        raise StateCorruptError(path, why) from error
    return facts if facts.key == key else None


def slim(facts: AnyFacts) -> AnyFacts:
    """The same without what the machine does not judge by."""
    if not isinstance(facts, JobFacts | ResolveFacts | ReviewFacts) or facts.end.agent is None:
        return facts
    agent = facts.end.agent.model_copy(update={"transcript": Transcript()})
    return facts.model_copy(update={"end": facts.end.model_copy(update={"agent": agent})})
