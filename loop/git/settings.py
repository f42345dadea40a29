"""Pick from a person's set-up what reaches their remote: credentials, ssh, proxy, TLS, addresses.

An allowlist by name: whatever else their configuration says has no effect on fetch and push.
"""

import os
import shlex
from collections.abc import Mapping
from pathlib import PurePath

from loop.git.checkout import Checkout, read_settings
from loop.git.profiles import Profile, network

SECTIONS = ("credential.", "http.", "url.", "ssh.", "protocol.")
KEYS = frozenset({"core.askpass", "core.gitproxy", "transfer.credentialsinurl"})
OF_REMOTE = ("url", "pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack")


def network_profile(checkout: Checkout, remote: str, environ: Mapping[str, str] | None = None) -> Profile:
    """The profile in which `remote` is known as the checkout configures it; run it with its root as `cwd`.

    A relative address or path in the person's configuration holds from that folder.
    """
    settings = read_settings(checkout)
    picked = tuple((key, value) for key, value in settings if is_for_network(key, remote))
    ssh = ssh_command(dict(settings).get("core.sshcommand"), os.environ if environ is None else environ)
    return network(picked, (("GIT_SSH_COMMAND", ssh),))


def is_for_network(key: str, remote: str) -> bool:
    """Whether a configuration key is one of those that the network profile keeps."""
    of_remote = tuple(f"remote.{remote}.{name}" for name in OF_REMOTE)
    return key in KEYS or key in of_remote or key.startswith(SECTIONS)


def ssh_command(configured: str | None, environ: Mapping[str, str]) -> str:
    """The person's ssh, in git's own order of precedence, told never to ask."""
    program = environ.get("GIT_SSH")
    command = environ.get("GIT_SSH_COMMAND") or configured or (shlex.quote(program) if program else "ssh")
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    names = [PurePath(word).name for word in words if "=" not in word]
    is_openssh = bool(names) and names[0].removesuffix(".exe") == "ssh"
    # Other programs (plink) do not know the option and would fail because of it.
    return f"{command} -o BatchMode=yes" if is_openssh else command
