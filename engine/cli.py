"""`python -m engine`: many tasks on Temporal, each carried by the same machine as `factory run`.

Limits: arguments in, exit code out; starts and ends the server and workers.
"""

import asyncio
import os
from pathlib import Path

import click

from engine import answering, handing, names, versions
from engine.canary import promote, run_canary
from engine.connect import address_from, connect
from engine.namespace import ensure_namespace
from engine.reach import Reach, guarded
from engine.sending import deliver
from engine.server import find_server, stop_server, up_server
from engine.worker import WorkerOptions, place_of, run_worker
from engine.workers import start_worker, stop_workers
from instrument.found import find_home
from instrument.unheard import QuietGroup
from loop.errors import UsageError
from loop.home import make_home

A_FILE = click.Path(path_type=Path, exists=True, dir_okay=False, resolve_path=True)
"""Named in full: a worker that `up` starts has another current folder."""


@click.group(cls=QuietGroup)
@click.option("--address", metavar="HOST:PORT", help="A Temporal server of your own; else the embedded one.")
@click.option("--namespace", help=f"Its namespace; {names.NAMESPACE} where none is given.")
@click.option("--tls-ca", type=A_FILE, help="Who signed its certificate.")
@click.option("--tls-cert", type=A_FILE, help="A certificate of ours.")
@click.option("--tls-key", type=A_FILE, help="Its key.")
@click.option("--api-key-env", metavar="NAME", help="The variable that holds an API key.")
@click.pass_context
def main(
    context: click.Context,
    *,
    address: str | None,
    namespace: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    api_key_env: str | None,
) -> None:
    """Carry many tasks at once: hand them over, answer what they ask, lose nothing."""

    def go() -> Reach:
        own = address_from(
            os.environ,
            host_port=address,
            namespace=namespace,
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
            api_key_env=api_key_env,
        )
        return Reach(make_home(find_home(os.environ)), own)

    context.obj = guarded(go)


@main.command()
@click.option("--no-worker", is_flag=True, help="Start the server alone.")
@click.pass_context
def up(context: click.Context, *, no_worker: bool) -> None:
    """Start the embedded server and one worker; what is up already is used."""
    reach: Reach = context.obj

    def go() -> None:
        address = reach.own or up_server(reach.home)

        async def ready() -> None:
            client = await connect(address)
            await ensure_namespace(client)
            await deliver(client, reach.home, reach.server)

        asyncio.run(ready())
        server = find_server(reach.home) if reach.own is None else None
        click.echo(f"server: {address.host_port}" + (f", its page: {server.ui_url}" if server else ""))
        if not no_worker:
            build = versions.build_id()
            program = start_worker(reach.home, _typed(context.find_root()), build)
            click.echo(f"worker: process {program.pid}, log: {program.log}")
            asyncio.run(renew(reach, build))

    guarded(go)


def _typed(root: click.Context) -> list[str]:
    """The options of `engine` itself, for a worker to be started with."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in root.params.items() if value]


async def renew(reach: Reach, build: str) -> None:
    """Make our version current if it is not: its canary first, then the workers of the old one end."""
    client = await connect(reach.address())
    was = await versions.current_version(client)
    if was == build:
        return
    if was:
        click.echo(f"canary: version {build} is new; a scripted task goes first", err=True)
    await promote(client, reach.home, build)
    stop_workers(reach.home, but=build)
    click.echo(f"version: {build} is current" + (f", {was} is not any more" if was else ""))


@main.command()
@click.pass_obj
def canary(reach: Reach) -> None:
    """Land a scripted task with this version of the code, which is then given all others."""

    async def go() -> None:
        client = await connect(reach.address())
        build = versions.build_id()
        await run_canary(client, reach.home, build)
        await versions.make_current(client, build)
        click.echo(f"canary: landed; version {build} is current")

    guarded(lambda: asyncio.run(go()))


@main.command()
@click.pass_obj
def down(reach: Reach) -> None:
    """End the worker and the embedded server; jobs that run go on and are found again by `up`."""

    def go() -> None:
        click.echo("worker: ended" if stop_workers(reach.home) else "worker: none was up")
        if reach.own is None:
            click.echo("server: ended" if stop_server(reach.home) else "server: none was up")

    guarded(go)


@main.command()
@click.option("--host", default="", help="Label of this host among several; else the machine's name.")
@click.option("--slots", type=click.IntRange(1, 256), help="Jobs at once; else FACTORY_JOBS, or two.")
@click.option("--roles", default="control,jobs", help="control (git, decisions), jobs (containers), or both.")
@click.pass_obj
def worker(reach: Reach, *, host: str, slots: int | None, roles: str) -> None:
    """Work for the engine until SIGTERM; jobs that run are left to the next worker."""
    wanted = tuple(role.strip() for role in roles.split(","))
    options = WorkerOptions(home=reach.home, host=host, slots=slots, roles=wanted)

    async def go() -> None:
        if not set(wanted) <= {"control", "jobs"}:
            raise UsageError(f"--roles {roles}: name control, jobs, or both with a comma")
        client = await connect(reach.address())
        await deliver(client, reach.home, reach.server)
        await run_worker(client, options, place_of(options, os.environ))

    guarded(lambda: asyncio.run(go()))


COMMANDS = (
    handing.submit,
    handing.import_,
    answering.status,
    answering.ruling,
    answering.answer,
    answering.event,
    answering.cancel,
    answering.export_,
    answering.gate,
    answering.hold,
    answering.release,
)
for command in COMMANDS:
    main.add_command(command)
