"""The checks of `factory doctor`, from cheap to dear: one row each.

Pure: no I/O.
"""

from loop.doctor.baseline import look_at_baseline
from loop.doctor.checks import Check
from loop.doctor.engine import look_at_engine, look_at_images, look_at_runtimes
from loop.doctor.forge import look_at_protection
from loop.doctor.host import look_at_disk, look_at_git
from loop.doctor.leftovers import look_at_leftovers
from loop.doctor.money import look_at_keys, look_at_prices
from loop.doctor.probes import look_at_programs, look_at_request
from loop.doctor.remote import look_at_remote
from loop.doctor.repository import look_at_branch, look_at_config, look_at_repository, look_at_tasks
from loop.doctor.tree import look_at_case, look_at_filters, look_at_hooks, look_at_submodules

CHECKS = (
    Check("git", look_at_git),
    Check("repository", look_at_repository, ("git",)),
    Check("factory.toml", look_at_config, ("repository",)),
    Check("branch", look_at_branch, ("factory.toml",)),
    Check("task files", look_at_tasks, ("factory.toml",)),
    Check("prices", look_at_prices, ("branch",)),
    Check("submodules", look_at_submodules, ("branch",)),
    Check("filters", look_at_filters, ("branch",)),
    Check("hooks", look_at_hooks, ("branch",)),
    Check("path case", look_at_case, ("branch",)),
    Check("engine", look_at_engine),
    Check("runtimes", look_at_runtimes, ("factory.toml", "engine")),
    Check("disk", look_at_disk, ("factory.toml", "engine")),
    Check("leftovers", look_at_leftovers, ("engine",)),
    Check("key", look_at_keys, ("branch",)),
    Check("remote", look_at_remote, ("branch",)),
    Check("protection", look_at_protection, ("branch",)),
    Check("images", look_at_images, ("branch", "engine")),
    Check("programs", look_at_programs, ("images",)),
    Check("request", look_at_request, ("images",)),
    Check("baseline", look_at_baseline, ("images",)),
)
