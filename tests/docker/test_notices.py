"""What the proxy notices while a real program runs: seen before the job has ended, kept after it."""

import pytest

from instrument.schema.vocabulary import Ended, NoticeKind, RuntimeName
from jobs.order import MIB, AgentWork, Limits, ProxyOrder
from jobs.progress import Progress
from jobs.runner import DockerJobs
from support.pods import World

pytestmark = pytest.mark.docker

STORY = b"""
model: claude-sonnet-4-5
aux_usage: {input: 0, output: 0}
rounds:
  - role: coder
    turns:
      - {run: "echo 1 >> c.txt", usage: {input: 5000, output: 80}}
      - {run: "echo 2 >> c.txt", usage: {input: 5000, output: 80}}
      - {run: "echo 3 >> c.txt", usage: {input: 5000, output: 80}}
      - {run: "echo 4 >> c.txt", usage: {input: 5000, output: 80}}
      - {finish: "Done.", delay_ms: 5000, usage: {input: 5000, output: 80}}
"""
TURN_MICROUSD = 5000 * 3 + 80 * 15


def test_what_the_proxy_notices_is_seen_while_the_job_runs_and_kept_with_its_end(world: World) -> None:
    seen: list[Progress] = []
    jobs = DockerJobs(connect=lambda: world.engine, on_progress=seen.append)
    # Four turns are 90 per cent of it, five more than all; nothing in any turn comes from the cache.
    proxy = ProxyOrder(
        "",
        secret="sk-unused",
        budget_microusd=TURN_MICROUSD * 40 // 9,
        story=STORY,
        story_role="coder",
        story_round=1,
    )
    work = AgentWork(RuntimeName.CLAUDE, "claude-sonnet-4-5", b"Write c.txt.")
    limits = Limits(memory_bytes=2048 * MIB, deadline_s=90)
    end = jobs.run(world.order("notices", agent=work, proxy=proxy, limits=limits), resumed=False)
    assert end.report is not None
    assert end.report.ended is Ended.EXITED
    assert end.ledger.cost_microusd == 5 * TURN_MICROUSD
    whats = {notice.what: notice for notice in end.ledger.notices}
    assert set(whats) == {NoticeKind.BUDGET_80, NoticeKind.BUDGET_95, NoticeKind.CACHE_MISSED}
    assert len(end.ledger.notices) == 3
    assert whats[NoticeKind.BUDGET_80].spent_microusd == 4 * TURN_MICROUSD
    missed = whats[NoticeKind.CACHE_MISSED]
    assert (missed.calls, missed.input_tokens) == (3, 15_000)
    live = [{notice.what for notice in look.ledger.notices} for look in seen]
    assert {NoticeKind.BUDGET_80, NoticeKind.CACHE_MISSED} in live
