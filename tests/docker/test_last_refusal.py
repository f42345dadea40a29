"""At the cap each conversation of Claude Code is refused once: its own, each sub-agent's, a summary's.

The other programs stop after one refusal wherever it falls (`test_runtimes.py`); here too, one at a time.
"""

import json
from typing import Any

import pytest

from instrument.schema.vocabulary import AgentFault, Ended, RuntimeName
from jobs.order import MIB, AgentWork, Limits, ProxyOrder
from support.pods import World

pytestmark = pytest.mark.docker

SPENT = {"input_tokens": 96_000, "output_tokens": 10}
PROMPT = {"description": "look", "prompt": "Look at a.txt.", "subagent_type": "general-purpose"}
LOOK = {"command": "cat a.txt", "description": "look"}
FULL = b"""
rounds:
  - role: coder
    turns:
      - {say: "First.", run: "echo 1 >> c.txt", usage: {input: 1200, output: 80}}
      - {say: "Second.", run: "echo 2 >> c.txt", usage: {input: 1200, output: 80}}
      - {say: "Third.", run: "echo 3 >> c.txt", usage: {input: 1200, output: 80}}
      - {say: "Fourth.", run: "echo 4 >> c.txt", usage: {input: 96000, output: 80}}
"""


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def spending(*tools: tuple[str, dict[str, str]]) -> bytes:
    """One answer that calls these tools and spends everything."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    stream = event("message_start", message={**message, "content": [], "usage": SPENT})
    for index, (name, arguments) in enumerate(tools):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        stream += event("content_block_start", index=index, content_block=block)
        stream += event("content_block_delta", index=index, delta=delta)
        stream += event("content_block_stop", index=index)
    stream += event("message_delta", delta={"stop_reason": "tool_use"}, usage=SPENT) + event("message_stop")
    headers = [["content-type", "text/event-stream"]]
    answer = {"path": "/v1/messages", "status": 200, "headers": headers, "pieces": [{"text": stream}]}
    return json.dumps({"rounds": [{"role": "coder", "recorded": [answer]}]}).encode()


@pytest.mark.parametrize(
    ("story", "calls", "refused"),
    [
        pytest.param(spending(("Bash", LOOK)), 1, 1, id="alone"),
        pytest.param(FULL, 4, 2, id="a summary is due"),
        pytest.param(spending(*[("Agent", PROMPT)] * 3), 1, 4, id="three sub-agents"),
    ],
)
def test_each_conversation_is_refused_once(world: World, story: bytes, calls: int, refused: int) -> None:
    proxy = ProxyOrder(
        "", secret="sk-x", budget_microusd=20_000, story=story, story_role="coder", story_round=1
    )
    work = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Look at a.txt.")
    limits = Limits(memory_bytes=2048 * MIB, deadline_s=300, same_command=0)
    end = world.jobs.run(world.order("refused", agent=work, proxy=proxy, limits=limits), resumed=False)
    assert [call.status for call in end.ledger.calls] == [200] * calls
    assert [row.reason for row in end.ledger.denied] == ["budget"] * refused
    assert end.report is not None
    assert end.report.ended is Ended.EXITED
    assert end.agent is not None
    assert end.agent.fault is AgentFault.PROVIDER_ERROR
