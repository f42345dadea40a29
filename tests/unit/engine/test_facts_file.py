from pathlib import Path

from engine.facts_file import keep_facts, kept_facts, slim
from instrument.schema.transcript import Transcript
from loop.machine.facts import CancelledFacts, JobFacts
from support.ends import agent_run, coder_end


def test_what_was_found_out_answers_its_own_key_only(tmp_path: Path) -> None:
    assert kept_facts(tmp_path, "a-001-implement-1-0") is None
    facts = CancelledFacts(key="a-001-implement-1-0", end=None, signal=2)
    keep_facts(tmp_path, facts)
    assert kept_facts(tmp_path, facts.key) == facts
    assert kept_facts(tmp_path, "a-001-implement-2-0") is None


def test_a_transcript_does_not_travel_but_is_kept(tmp_path: Path) -> None:
    told = Transcript(errors=("what it said",))
    key = "a-001-implement-1-0"
    facts = JobFacts(key=key, end=coder_end(key, agent=agent_run().model_copy(update={"transcript": told})))
    keep_facts(tmp_path, facts)
    assert kept_facts(tmp_path, key) == facts
    travelling = slim(facts)
    assert "what it said" not in travelling.model_dump_json()
    assert isinstance(travelling, JobFacts)
    assert travelling.end.ledger == facts.end.ledger
