"""Tests of folding."""

import unittest

from words.fold import fold


class Fold(unittest.TestCase):
    def test_a_long_word_has_a_line_of_its_own(self):
        self.assertEqual(fold("a verylongword b", 5), ["a", "verylongword", "b"])

    def test_a_line_may_be_as_long_as_the_width(self):
        self.assertEqual(fold("one two three", 7), ["one two", "three"])
