"""The `instrument` command: prints what happened, from the files alone.

Each of its commands is loaded when it is called: together they take longer to load than a report to make.
"""

from importlib import import_module

import click

from instrument.unheard import QuietGroup

_COMMANDS = {
    "export": "instrument.export.command",
    "html": "instrument.html.command",
    "planner": "instrument.planner.command",
    "reads": "instrument.commands.reads",
    "report": "instrument.commands.report",
    "status": "instrument.commands.status",
    "tail": "instrument.commands.tail",
}
"""Each by its module, which holds it under its own name."""


class _Lazy(QuietGroup):
    """A group that knows its commands by name only."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Every name."""
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command; none where there is no such name."""
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(_COMMANDS[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Lazy)
@click.version_option(package_name="factory-loop")
def main() -> None:
    """What happened to tasks, and what an accepted one cost."""
