from pathlib import Path

from engine.canary import clear


def test_what_bears_a_canarys_name_goes_and_nothing_else(tmp_path: Path) -> None:
    own = ("canary/canary-1a/origin.git/HEAD", "repos/canary-1a.git/HEAD", "repos/canary-1a.lock")
    own += ("tasks/canary-1a-001/state.json", "running/canary-1a/x.json", "holds/canary-1a.lock")
    others = ("tasks/shop-001/state.json", "tasks/canary-2b-001/state.json", "repos/shop.git/canary-1a")
    for name in own + others:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    clear(tmp_path, "canary-1a")

    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(others)
