from datetime import UTC, datetime

from engine.standing import Standing, render

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def task(task_id: str, waits: str = "", stage: str = "implement", stop: str = "", host: str = "") -> Standing:
    repo = task_id.rpartition("-")[0]
    return Standing(task_id, repo, stage, waits, stop, "spring", host, NOON)


def test_what_waits_for_a_person_comes_first_with_its_command() -> None:
    text = render(
        [
            task("shop-001", host="big"),
            task("shop-002", "turn"),
            task("shop-003", "person", "stopped", "blocked"),
            task("shop-004", "gate", ""),
            task("shop-005", "hold"),
            task("api-001", "fault", ""),
        ],
        7,
    )
    assert text == (
        "Waiting for you: 1\n"
        "  shop-003                     blocked\n"
        "      python -m engine ruling shop-003 '…'\n"
        "\n"
        "Waiting until something is mended: 1\n"
        "  api-001                      not begun\n"
        "      python -m engine event mended COMMIT --repo api\n"
        "\n"
        "Waiting for your word on their phase: 1\n"
        "  shop-004                     not begun\n"
        "      python -m engine gate spring\n"
        "\n"
        "Held: 1\n"
        "  shop-005                     implement\n"
        "      python -m engine release shop-005\n"
        "\n"
        "Under way: 1\n"
        "  shop-001                     implement on big\n"
        "\n"
        "Waiting for their turn: 1\n"
        "  shop-002                     implement\n"
        "\n"
        "6 under way, 7 ended.\n"
    )


def test_without_tasks_there_is_one_line() -> None:
    assert render([], 0) == "0 under way, 0 ended.\n"
