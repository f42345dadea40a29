"""Tests of the command."""

import contextlib
import io
import unittest

from durations.__main__ import main


class Main(unittest.TestCase):
    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def test_prints_all_three_forms(self):
        self.assertEqual(self.run_main("1h", "30m"), (0, "5400.0\tPT1H30M\t1h 30m\n", ""))

    def test_says_in_one_line_what_is_wrong(self):
        self.assertEqual(self.run_main("1x"), (2, "", "durations: unknown unit 'x' in '1x'\n"))
        self.assertEqual(self.run_main()[0], 2)
