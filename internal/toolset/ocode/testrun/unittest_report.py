import inspect
import json
import os
import sys
import unittest

report, coverage_report, measure = sys.argv[1:4]
found = {"passed": 0, "skipped": 0, "failures": [], "warnings": []}


def place(test):
    try:
        method = inspect.unwrap(getattr(test, test._testMethodName))
        return inspect.getsourcefile(method) or "", inspect.getsourcelines(method)[1]
    except Exception:
        return "", 0


class Result(unittest.TextTestResult):
    failed = None

    def note(self, test, message):
        file, line = place(test)
        found["failures"].append({"name": test.id(), "file": file, "line": line, "message": message.strip()})

    def startTest(self, test):
        self.failed = False
        super().startTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        found["passed"] += 1

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        found["passed"] += 1

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        found["skipped"] += 1

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "unexpected success")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            bad = self.failures if issubclass(err[0], test.failureException) else self.errors
            self.note(subtest, bad[-1][1])


class Runner(unittest.TextTestRunner):
    resultclass = Result


meter = None
if measure == "yes":
    try:
        import coverage
        meter = coverage.Coverage(data_file=None, source=["."])
        meter.start()
    except ImportError:
        found["warnings"].append("coverage needs the Python package coverage; install it, or leave coverage out")

sys.path.insert(0, os.getcwd())
program = unittest.main(module=None, argv=["python -m unittest"] + sys.argv[4:], testRunner=Runner, exit=False)
if meter is not None:
    meter.stop()
    meter.json_report(outfile=coverage_report)
with open(report, "w", encoding="utf-8") as out:
    json.dump(found, out)
ok = program.result.wasSuccessful()
sys.exit(0 if ok else 1)
