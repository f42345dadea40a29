"""What of a job's calls a person should hear of while it still runs.

Pure: no I/O. Limits: each kind is told once a job; nothing is decided from it.
"""

from dataclasses import dataclass
from typing import Final

from instrument.schema.vocabulary import NoticeKind

BUDGET_PERCENTS = ((NoticeKind.BUDGET_80, 80), (NoticeKind.BUDGET_95, 95))
DENIED_STATUSES = (401, 403)
DENIED_IN_ROW = 2
"""One may be a token that was just renewed; the next one with it would have passed."""
MISSES_IN_ROW = 3
"""One follows a summary or a change of tools, two a pause longer than the cache lives."""
CACHED_FROM_TOKENS = 4096
"""The longest prompt that any model of ours leaves uncached, Claude Haiku 4.5's; OpenAI's is 1024
(https://docs.litellm.ai/docs/completion/prompt_caching, read 2026-11-30)."""


class EndedCall:
    """What is looked at of one settled call."""

    def __init__(
        self,
        status: int | None,
        model: str,
        input_tokens: int,
        cache_read_tokens: int,
        *,
        is_cacheable: bool,
        started_s: float,
        ended_s: float,
    ) -> None:
        self.status: Final = status
        """Of the answer; none where none came, which says nothing about a key."""
        self.model: Final = model
        self.input_tokens: Final = input_tokens
        """All of it, caches included; 0 where the answer reported none."""
        self.cache_read_tokens: Final = cache_read_tokens
        self.is_cacheable: Final = is_cacheable
        """Whether the price data has a cheaper rate for what this model reads from its cache."""
        self.started_s: Final = started_s
        self.ended_s: Final = ended_s


@dataclass(frozen=True, slots=True)
class Found:
    """Something to tell; see `instrument.schema.ledger.Notice` for the figures."""

    what: NoticeKind
    calls: int = 0
    input_tokens: int = 0


@dataclass(slots=True)
class _Prompts:
    """The last call of one model whose prompt was long enough for the cache, and the misses up to it."""

    input_tokens: int
    ended_s: float
    misses: int = 0
    missed_tokens: int = 0


class Watch:
    """Order of calls: `see` for each call that was settled, in any order of their starts."""

    def __init__(self, budget_microusd: int) -> None:
        self._budget_microusd = budget_microusd
        self._told: set[NoticeKind] = set()
        self._denied = 0
        self._prompts: dict[str, _Prompts] = {}

    def see(self, call: EndedCall, spent_microusd: int) -> tuple[Found, ...]:
        """What this call shows for the first time; mostly nothing."""
        found: list[Found] = []
        if spent_microusd * 100 >= self._budget_microusd * BUDGET_PERCENTS[0][1]:
            found += [
                Found(kind)
                for kind, percent in BUDGET_PERCENTS
                if spent_microusd * 100 >= self._budget_microusd * percent
            ]
        if call.status is not None:
            self._denied = self._denied + 1 if call.status in DENIED_STATUSES else 0
        if self._denied >= DENIED_IN_ROW:
            found.append(Found(NoticeKind.AUTH_REFUSED, self._denied))
        prompts = self._see_prompt(call)
        if prompts is not None and prompts.misses >= MISSES_IN_ROW:
            found.append(Found(NoticeKind.CACHE_MISSED, prompts.misses, prompts.missed_tokens))
        if not found:
            return ()
        fresh = tuple(each for each in found if each.what not in self._told)
        self._told.update(each.what for each in fresh)
        return fresh

    def _see_prompt(self, call: EndedCall) -> _Prompts | None:
        """Count a miss: nothing was read, though a prompt no longer than this one had just been sent."""
        if not call.is_cacheable or call.input_tokens < CACHED_FROM_TOKENS:
            return None
        before = self._prompts.get(call.model)
        if before is not None and call.started_s < before.ended_s:
            # Side by side: neither could read what the other wrote.
            return None
        now = _Prompts(call.input_tokens, call.ended_s)
        if before is not None and not call.cache_read_tokens and call.input_tokens >= before.input_tokens:
            now.misses = before.misses + 1
            now.missed_tokens = before.missed_tokens + call.input_tokens
        self._prompts[call.model] = now
        return now
