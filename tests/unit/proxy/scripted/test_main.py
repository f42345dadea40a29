"""The scripted provider's command line."""

import subprocess
import sys


def scripted(*words: str, line: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "proxy.scripted", *words]
    return subprocess.run(command, input=line, capture_output=True, text=True, check=False)


def test_the_help_names_the_recorder_and_is_no_error() -> None:
    said = scripted("--help")
    assert (said.returncode, said.stderr) == (0, "")
    assert "python -m proxy.scripted record --to URL OUT" in said.stdout


def test_a_wrong_line_and_a_wrong_argument_are_told_apart() -> None:
    line, argument = scripted(line="{}\n"), scripted("recrd")
    assert (line.returncode, argument.returncode) == (2, 2)
    assert line.stdout.startswith("The scripted provider's line is wrong")
    assert argument.stderr.endswith("unrecognized arguments: recrd\n")
