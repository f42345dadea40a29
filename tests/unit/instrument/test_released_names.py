from enum import StrEnum
from pathlib import Path

from instrument.schema import vocabulary

LIST = Path(__file__).with_name("released_names.txt")


def test_the_released_names_are_exactly_those_of_the_vocabulary() -> None:
    declared = {
        f"{name} {member.value}"
        for name, cls in vars(vocabulary).items()
        if isinstance(cls, type) and issubclass(cls, StrEnum) and cls is not StrEnum
        for member in cls
    }
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]

    assert not set(lines) - declared, (
        "a released name was renamed or removed: old runs hold it on disk, keep it"
    )
    assert not declared - set(lines), f"add the new names to {LIST.name}: they are released with this change"
    assert len(lines) == len(set(lines))
