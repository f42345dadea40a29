"""A line of any kind of a record, made from its model's JSON schema so that nothing here knows the fields."""

from typing import Any

from pydantic import BaseModel

TIME = "2026-03-01T10:00:00.250000Z"


def line_of(model: type[BaseModel]) -> dict[str, Any]:
    """A line of this kind, made from the JSON schema so that nothing here knows the fields."""
    schema = model.model_json_schema()
    return {name: _value(field, schema) for name, field in schema["properties"].items()}


def _value(field: dict[str, Any], schema: dict[str, Any]) -> Any:
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    if "const" in field:
        return field["const"]
    if "enum" in field:
        return field["enum"][0]
    if "anyOf" in field:
        return _value(field["anyOf"][0], schema)
    match field["type"]:
        case "integer":
            return 7
        case "boolean":
            return True
        case "object":
            return {name: _value(each, schema) for name, each in field.get("properties", {}).items()}
        case _:
            return TIME if field.get("format") == "date-time" else "text"
