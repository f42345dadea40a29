"""Tests of reading human durations."""

import unittest
from datetime import timedelta

from durations import DurationError, parse


class ParseHuman(unittest.TestCase):
    def test_units_add_up(self):
        self.assertEqual(parse("1h 30m"), timedelta(hours=1, minutes=30))
        self.assertEqual(parse("1w2d3h4m5s"), timedelta(9, 3 * 3600 + 4 * 60 + 5))
        self.assertEqual(parse("1s 5ms 7us"), timedelta(seconds=1, microseconds=5007))

    def test_words_are_units_too(self):
        self.assertEqual(parse("2 days, 4 hours and 1 minute"), timedelta(2, 4 * 3600 + 60))

    def test_fractions_are_exact(self):
        self.assertEqual(parse("1.5h"), timedelta(minutes=90))
        self.assertEqual(parse("0.1s"), timedelta(microseconds=100_000))

    def test_a_number_alone_is_seconds(self):
        self.assertEqual(parse("90"), timedelta(seconds=90))

    def test_a_sign_is_for_all_of_it(self):
        self.assertEqual(parse("-1h 30m"), -timedelta(hours=1, minutes=30))
        self.assertEqual(parse("+ 2s"), timedelta(seconds=2))

    def test_what_is_no_duration_is_refused(self):
        for text in ("", "-", "h", "1x", "1h 1h", "1m 1h", "1h,", "1h and", "1h 30", "999999999w"):
            with self.subTest(text), self.assertRaises(DurationError):
                parse(text)
