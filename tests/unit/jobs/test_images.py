from jobs.images import host_args


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
