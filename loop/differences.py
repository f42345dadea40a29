"""Where the agent of a job differs from the configuration: another model, another version.

Limits: reads the aliases and the pinned versions that this program brings; nothing of the job's own files.
"""

from instrument.schema.job import AgentRun, JobEnd
from jobs.pins import pinned_versions
from proxy.prices import is_same_model

Difference = dict[str, object]


def differences_of(end: JobEnd) -> list[Difference]:
    """The fields of `AgentDiffered`, each difference once; what is not known is no difference."""
    return _models(end) + (_version(end.agent) if end.agent else [])


def _models(end: JobEnd) -> list[Difference]:
    """The ledger's word on the model goes before the agent's own."""
    configured = end.agent.model_asked if end.agent else None
    pairs = [(configured or call.model_asked, call.model_answered) for call in end.ledger.calls]
    if not any(answered for _, answered in pairs) and end.agent:
        pairs = [(configured, end.agent.model_answered)]
    return [
        {"what": "model", "asked": asked, "found": answered}
        for asked, answered in dict.fromkeys(pairs)
        if asked and answered and not is_same_model(asked, answered)
    ]


def _version(agent: AgentRun) -> list[Difference]:
    pinned = pinned_versions().get(agent.runtime)
    if pinned is None or agent.version is None or agent.version == pinned:
        return []
    return [{"what": "version", "asked": pinned, "found": agent.version}]
