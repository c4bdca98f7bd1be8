import os
import tempfile
import unittest

from report import steps


class Steps(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.dir.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path

    def sales(self, *lines):
        return self.path("in.csv", "\n".join([",".join(steps.FIELDS), *lines]) + "\n")

    def test_rows_that_cannot_be_used_are_kept_apart(self):
        source = self.sales("2026-01-01,north,lamp,2,1.50", "2026-01-02,north,lamp,x,1.50", "2026-01-03,north,lamp,2,")
        good, bad = self.path("good.csv"), self.path("bad.csv")
        self.assertEqual(steps.clean(source, good, bad), (1, 2))
        self.assertEqual([row["reason"] for row in read(bad)], ["quantity is not a number", "price is not a number"])

    def test_revenue_is_exact(self):
        source = self.sales(*["2026-01-01,north,lamp,1,0.10"] * 3)
        self.assertEqual(steps.summarize(source, "month"), [{"month": "2026-01", "quantity": 3, "revenue": "0.30"}])

    def test_another_file_is_refused(self):
        with self.assertRaises(steps.BadFile):
            steps.summarize(self.path("x.csv", "a,b\n1,2\n"), "region")


def read(name):
    import csv

    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    unittest.main()
