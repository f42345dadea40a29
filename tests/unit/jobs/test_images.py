from typing import cast

from jobs.engine import Engine
from jobs.images import ImageShelf, host_args


def test_proxy_and_mirror_settings_reach_a_build_and_nothing_else_does() -> None:
    environment = {
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "PIP_INDEX_URL": "https://mirror.example.org/simple",
        "HTTP_PROXY": "",
        "ANTHROPIC_API_KEY": "sk",
        "PATH": "/bin",
    }
    assert host_args(environment) == {
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "PIP_INDEX_URL": "https://mirror.example.org/simple",
    }


def test_a_set_up_behind_an_allowlist_keeps_the_mirrors_and_not_the_machines_proxy() -> None:
    environment = {"https_proxy": "http://proxy:3128", "PIP_INDEX_URL": "https://mirror.example.org/simple"}
    shelf = ImageShelf(cast("Engine", None), environment=environment)

    assert shelf.network_env(has_proxies=True) == environment
    assert shelf.network_env(has_proxies=False) == {"PIP_INDEX_URL": "https://mirror.example.org/simple"}
