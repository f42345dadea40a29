"""The one base class of models."""

from instrument.schema.usage import Usage


def test_one_of_known_values_is_as_one_that_was_checked() -> None:
    checked = Usage(input_tokens=3, web_searches=1)
    known = Usage.of_known(**checked.__dict__)
    assert known == checked
    assert known.model_dump_json() == checked.model_dump_json()
    assert known + known == checked + checked
