"""Tests of ISO 8601 durations."""

import unittest
from datetime import timedelta

from durations import DurationError, format_iso, parse


class ParseIso(unittest.TestCase):
    def test_units_add_up(self):
        self.assertEqual(parse("PT1H30M"), timedelta(hours=1, minutes=30))
        self.assertEqual(parse("p1dt2h"), timedelta(days=1, hours=2))
        self.assertEqual(parse("-P2W"), -timedelta(weeks=2))

    def test_a_comma_is_a_point(self):
        self.assertEqual(parse("PT0,5S"), timedelta(milliseconds=500))

    def test_months_are_refused_and_minutes_are_not(self):
        self.assertEqual(parse("PT1M"), timedelta(minutes=1))
        with self.assertRaisesRegex(DurationError, "no fixed length"):
            parse("P1M")

    def test_what_is_no_duration_is_refused(self):
        for text in ("P", "PT", "P1DT", "PT1D", "P1H", "PT1S1M"):
            with self.subTest(text), self.assertRaises(DurationError):
                parse(text)


class FormatIso(unittest.TestCase):
    def test_what_is_written_reads_the_same(self):
        for text in ("PT0S", "PT1H30M", "P1DT2H", "-PT0.25S", "P9DT0.000001S"):
            with self.subTest(text):
                self.assertEqual(format_iso(parse(text)), text)
