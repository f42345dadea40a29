"""Measures one section, in a process of its own: `python -m tests.bench.section NAME COUNT OUT`.

Limits: writes what was measured to OUT, as JSON; progress and what went wrong go to standard error.
"""

import importlib
import json
import sys
import traceback
from pathlib import Path


def main() -> int:
    """Exit code 1 where it could not be measured, 130 where it was interrupted."""
    name, count, out = sys.argv[1:]
    try:
        record = importlib.import_module(f"tests.bench.{name}_bench").measure(int(count))
        Path(out).write_text(json.dumps(record), encoding="utf-8")
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001 - the outermost frame
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
