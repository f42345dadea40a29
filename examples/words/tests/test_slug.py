"""Tests of slugs."""

import unittest

from words.slug import slug


class Slug(unittest.TestCase):
    def test_words_are_joined_by_dashes(self):
        self.assertEqual(slug("A long way"), "a-long-way")

    def test_there_is_never_more_than_one_dash_and_none_at_an_end(self):
        self.assertEqual(slug("  A long, long way!"), "a-long-long-way")
        self.assertEqual(slug("?"), "")
