"""What the shell works with, fixed for one run of the program.

Pure: no I/O.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from instrument.schema.prices import OwnPrice
from instrument.schema.state import AgentChoice
from instrument.schema.vocabulary import ProviderName, RuntimeName
from jobs.ports import Jobs
from loop.git.store import Store
from loop.together import provider_of


@dataclass(frozen=True, slots=True)
class Provider:
    """Where model calls go."""

    name: ProviderName
    base_url: str
    auth: str
    secret: str = field(repr=False)
    key_variable: str
    """The host's variable that `secret` was read from."""
    prices: Mapping[str, OwnPrice] = field(default_factory=dict)
    """The person's for its models, by id."""
    fallbacks: tuple["Provider", ...] = ()
    """Asked in this order where it cannot answer; they have none of their own."""

    @property
    def ways(self) -> tuple["Provider", ...]:
        """All that may be asked, itself first."""
        return (self, *self.fallbacks)


@dataclass(frozen=True, slots=True)
class Context:
    """The places, the seams and the person's choices."""

    home: Path
    folder: Path
    """The task's own."""
    store: Store
    branch: str
    remote: str | None
    """Where to push; none: the local branch is all there is."""
    jobs: Jobs
    providers: Mapping[ProviderName, Provider]
    environment: Mapping[str, str]
    """The host's, of which `[job] env` names are handed on."""
    now: Callable[[], datetime]
    runtime: RuntimeName | None = None
    """`--runtime`, which overrides the task and the repo."""
    model: str | None = None
    """`--model`, likewise."""
    story: bytes | None = None
    """A scripted provider's, which then answers instead of every provider."""
    has_ladder: bool = True
    """Whether `[ladder]` counts; not in a bake-off, where a stop is a result."""

    def provider_for(self, choice: AgentChoice) -> Provider:
        """Who answers this agent's calls."""
        own = {model: name for name, provider in self.providers.items() for model in provider.prices}
        return self.providers[provider_of(choice, own)]
