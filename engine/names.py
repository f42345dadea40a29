"""The names that this package and the server share: namespace, search attributes, retention.

Pure: no I/O.
"""

from datetime import timedelta

from temporalio.common import SearchAttributeKey

NAMESPACE = "factory"
RETENTION = timedelta(days=90)
"""How long the server keeps a workflow that has ended."""

TASK = SearchAttributeKey.for_keyword("FactoryTask")
REPO = SearchAttributeKey.for_keyword("FactoryRepo")
STAGE = SearchAttributeKey.for_keyword("FactoryStage")
WAITS = SearchAttributeKey.for_keyword("FactoryWaits")
"""What a task waits for; absent where it waits for nothing."""
STOP = SearchAttributeKey.for_keyword("FactoryStop")
PHASE = SearchAttributeKey.for_keyword("FactoryPhase")
HOST = SearchAttributeKey.for_keyword("FactoryHost")
PURPOSE = SearchAttributeKey.for_keyword("FactoryPurpose")
ATTRIBUTES = (TASK, REPO, STAGE, WAITS, STOP, PHASE, HOST, PURPOSE)
"""All that the namespace has to know, each a keyword."""
