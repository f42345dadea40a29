"""`instrument status`: where every task stands that is not done."""

import os
import sys
import time
from datetime import UTC, datetime

import click

from instrument.found import find_home
from instrument.options import read, show, until_interrupted
from instrument.standing import find_standing
from instrument.standing_table import render_standing

_WATCH_S = 2.0


@click.command()
@click.option("--check", is_flag=True, help="Exit 1 where a task is interrupted or unreadable: for cron.")
@click.option("--watch", is_flag=True, help="Show it again every two seconds, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one object a task instead.")
def status(*, check: bool, watch: bool, as_json: bool) -> None:
    """Say where every task stands that is not done, interrupted ones first, each with its command."""
    home = find_home(os.environ)
    with until_interrupted():
        while True:
            standing = read(home, lambda: find_standing(home))
            text = "".join(each.model_dump_json() + "\n" for each in standing)
            if not as_json:
                text = render_standing(standing, datetime.now(UTC))
            if watch and sys.stdout.isatty():
                click.clear()
            show(text)
            if not watch:
                break
            time.sleep(_WATCH_S)
    if check and any(each.how in ("interrupted", "unreadable") for each in standing):
        sys.exit(1)
