"""Tests of plurals."""

import unittest

from words.plural import plural


class Plural(unittest.TestCase):
    def test_most_nouns_take_an_s(self):
        self.assertEqual(plural("task"), "tasks")

    def test_a_y_behind_a_consonant_becomes_ies(self):
        self.assertEqual(plural("city"), "cities")
        self.assertEqual(plural("day"), "days")
