"""What an engine runs under the name sysbox-runc where there is no sysbox: the real runc, its bundle edited.

The engine makes the user namespace (`userns-remap`); here come what else sysbox gives: control groups of the
container's own, /proc and /sys without masks, more system calls, no profile of AppArmor. Capabilities stay as
they were asked for: sysbox gives them all, and so what we ask for is shown to be enough. It shows our side
alone: the isolation that sysbox gives is not in here.

    python3 sysbox_stand_in.py ARGUMENTS-OF-RUNC…     or, as the hook that it plants, `… --hook`
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

GROUPS = Path("/sys/fs/cgroup")
INIT = "init.scope"
"""Where the container's processes are in version 2: a group above others holds none."""

CALLS = [
    "mount",
    "umount2",
    "pivot_root",
    "setns",
    "unshare",
    "sethostname",
    "add_key",
    "request_key",
    "keyctl",
]
"""What sysbox lets through beside the engine's own filter, by its manual's page on security."""


def edit(bundle: Path) -> None:
    path = bundle / "config.json"
    config = json.loads(path.read_text())
    linux = config["linux"]
    linux["maskedPaths"] = linux["readonlyPaths"] = []
    if not any(space["type"] == "cgroup" for space in linux["namespaces"]):
        linux["namespaces"].append({"type": "cgroup"})
    for mount in config["mounts"]:
        if mount["destination"] in ("/sys", "/sys/fs/cgroup"):
            mount["options"] = [option for option in mount["options"] if option != "ro"]
    linux["seccomp"]["syscalls"].append({"names": CALLS, "action": "SCMP_ACT_ALLOW"})
    config["process"].pop("apparmorProfile", None)
    hook = {"path": sys.executable, "args": [sys.executable, "-I", __file__, "--hook"]}
    config.setdefault("hooks", {}).setdefault("createRuntime", []).append(hook)
    path.write_text(json.dumps(config))


def hand_over_groups(state: Any) -> None:
    """Let the container's root make groups below its own."""
    config = json.loads((Path(state["bundle"]) / "config.json").read_text())
    root = config["linux"]["uidMappings"][0]["hostID"]
    is_version_2 = (GROUPS / "cgroup.controllers").exists()
    for line in Path(f"/proc/{state['pid']}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers and not is_version_2:
            continue  # beside version 1, where nothing is limited by it
        group = GROUPS / controllers.removeprefix("name=") / path.lstrip("/")
        if is_version_2:
            split(group, state["pid"])
        for folder in (group, *filter(Path.is_dir, group.iterdir())):
            for entry in (folder, *folder.glob("cgroup.*"), *folder.glob("tasks")):
                os.chown(entry, root, root)


def split(group: Path, pid: int) -> None:
    (group / INIT).mkdir()
    (group / INIT / "cgroup.procs").write_text(str(pid))
    for controller in (group / "cgroup.controllers").read_text().split():
        (group / "cgroup.subtree_control").write_text(f"+{controller}")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments == ["--hook"]:
        hand_over_groups(json.load(sys.stdin))
        sys.exit(0)
    if "create" in arguments:
        edit(Path(arguments[arguments.index("--bundle") + 1]))
    os.execvp("runc", ["runc", *arguments])
