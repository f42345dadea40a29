"""Known secrets in the texts of a row."""

from proxy.masking import Masker


def test_a_secret_inside_of_another_leaves_nothing_of_it() -> None:
    assert Masker(("sk-abc", "sk-abc-def"))("x sk-abc-def sk-abc") == "x *** ***"


def test_a_secret_is_known_as_a_path_and_as_a_header_hold_it() -> None:
    masker = Masker(("gehe/im+ß",))
    assert masker("/v1/gehe%2Fim%2B%C3%9F?") == "/v1/***?"
    assert masker("gehe/im+ß".encode().decode("latin-1")) == "***"


def test_no_secret_and_a_local_servers_placeholder_are_no_mask() -> None:
    assert Masker(("", "x", "ext"))("text") == "text"
    assert Masker(())("text") == "text"
