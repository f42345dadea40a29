"""Tests of writing durations for people."""

import unittest
from datetime import timedelta

from durations import format_human


class FormatHuman(unittest.TestCase):
    def test_parts_of_nothing_are_left_out(self):
        self.assertEqual(format_human(5400), "1h 30m")
        self.assertEqual(format_human(timedelta(days=8, seconds=3)), "1w 1d 3s")
        self.assertEqual(format_human(0), "0s")

    def test_seconds_are_rounded(self):
        self.assertEqual(format_human(61.4), "1m 1s")
        self.assertEqual(format_human(61.6), "1m 2s")

    def test_a_rounded_second_is_carried(self):
        self.assertEqual(format_human(59.7), "1m")
        self.assertEqual(format_human(3599.6), "1h")
        self.assertEqual(format_human(-86399.5), "-1d")

    def test_less_than_a_second_is_milliseconds(self):
        self.assertEqual(format_human(0.25), "250ms")
        self.assertEqual(format_human(timedelta(milliseconds=600)), "600ms")
        self.assertEqual(format_human(-0.0015), "-2ms")
