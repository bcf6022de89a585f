"""Runs test cases of the Python package and prints a line for each, as the other
tests do. A test that raises fails; so does a file without tests."""
import sys
import unittest


class LineResult(unittest.TestResult):
    def addSuccess(self, test):
        print(f"ok python: {test.shortDescription() or test.id()}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skip python: {test.shortDescription() or test.id()} [needs {reason}]")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._show(self.failures[-1])

    def addError(self, test, error):
        super().addError(test, error)
        self._show(self.errors[-1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            failed = issubclass(error[0], test.failureException)
            self._show((self.failures if failed else self.errors)[-1])

    @staticmethod
    def _show(failure):
        test, trace = failure
        name = test.shortDescription() if hasattr(test, "shortDescription") else None
        print(f"not ok python: {name or test.id()}: {test}\n{trace}")


def main(*cases):
    """Runs the cases; the exit status says whether all held."""
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, cases))
    result = LineResult()
    suite.run(result)
    if not result.testsRun:
        print("not ok python: there are no tests")
    sys.exit(not (result.testsRun and result.wasSuccessful()))
