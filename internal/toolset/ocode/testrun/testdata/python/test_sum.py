import unittest


class SumTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(1 + 1, 2)

    def test_wrong(self):
        """With a doc string."""
        self.assertEqual(1 + 1, 3)

    def test_error(self):
        raise ValueError("broken")

    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    @unittest.skip("not today")
    def test_later(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(1, 2)
