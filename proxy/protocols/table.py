"""The protocols by the name that settings give them.

Pure: no I/O.
"""

from instrument.schema.vocabulary import ProviderName
from proxy.protocols import anthropic, openai
from proxy.protocols.wire import Wire

WIRES: dict[ProviderName, Wire] = {ProviderName.ANTHROPIC: anthropic, ProviderName.OPENAI: openai}
