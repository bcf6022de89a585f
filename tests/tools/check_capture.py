"""What stepcast.capture does around PyTorch, without PyTorch: ranks in processes of
their own, programs shared, errors of a child, the document.

    check_capture.py PACKAGE_FOLDER
"""

import json
import os
import sys
import tempfile
import types
import unittest

sys.path.insert(0, sys.argv.pop(1))
# the package itself loads the C library, which is not needed here
package = types.ModuleType("stepcast")
package.__path__ = [os.path.join(sys.path[0], "stepcast")]
sys.modules["stepcast"] = package

from stepcast.capture import _session, _values  # noqa: E402
from stepcast.capture._document import Capture  # noqa: E402


class FakeTorch:
    __version__ = "2.11.0"


def recorded(rank_name):
    """In place of a run: a rank's program names its stage and its operation."""

    def run(document, rank, warm_up, body, every_layer):
        if not document.mesh:
            document.mesh = [("pp", 2), ("dp", 3)]
        operation = document.call(rank_name(rank), [], [], {})
        return document, {"storages": [], "alive": [], "ops": [[operation, 0, "f", 0]]}

    return run


class Decorated(unittest.TestCase):
    """@captured: what it is given goes to the builder, its options to the capture."""

    def setUp(self):
        self.before = _session._torch, _session._run_rank
        _session._torch = lambda: FakeTorch
        self.steps = []

    def tearDown(self):
        _session._torch, _session._run_rank = self.before

    def run_rank(self, document, rank, warm_up, body, every_layer):
        class Session:
            def capture_steps(_, step):
                self.steps.append((rank, step(), warm_up, every_layer))

        body(Session())
        operation = document.call("aten.mm", [], [], {})
        return document, {"storages": [], "alive": [], "ops": [[operation, 0, "f", 0]]}

    def test_builder_and_options(self):
        _session._run_rank = self.run_rank
        # one rank, in this process

        @_session.captured(warm_up=3, every_layer=True)
        def build(width, depth=1):
            """Makes a step."""
            return lambda: (width, depth)

        self.assertEqual(build.__name__, "build")
        self.assertEqual(build.__doc__, "Makes a step.")
        document = build(64, depth=2).document()
        self.assertEqual(self.steps, [(0, (64, 2), 3, True)])
        self.assertEqual(document["world"], 1)
        self.assertEqual([c["ranks"] for c in document["classes"]], [1])

    def test_world_and_mesh(self):
        _session._run_rank = recorded(lambda rank: "aten.mm")

        @_session.captured(world_size=6, mesh={"pp": 2, "dp": 3})
        def build():
            return lambda: None

        document = build().document()
        self.assertEqual(document["world"], 6)
        self.assertEqual(document["mesh"], [["pp", 2], ["dp", 3]])
        self.assertEqual([c["rank"] for c in document["classes"]], [0, 3])


class Ranks(unittest.TestCase):
    def setUp(self):
        self.before = _session._torch, _session._run_rank
        _session._torch = lambda: FakeTorch

    def tearDown(self):
        _session._torch, _session._run_rank = self.before

    def test_one_rank_a_stage(self):
        _session._run_rank = recorded(lambda rank: f"aten.stage{rank // 3}")
        document = _session._run_ranks(None, 6, None, "auto", 1).document()
        self.assertEqual([c["rank"] for c in document["classes"]], [0, 3])
        self.assertEqual([c["ranks"] for c in document["classes"]], [3, 3])
        self.assertEqual([c["program"] for c in document["classes"]], [0, 1])
        self.assertEqual([c["op"] for c in document["calls"]], ["aten.stage0", "aten.stage1"])
        self.assertEqual(document["mesh"], [["pp", 2], ["dp", 3]])
        self.assertEqual(document["notes"], [])

    def test_a_rank_that_differs_is_noted(self):
        _session._run_rank = recorded(lambda rank: f"aten.rank{rank}")
        document = _session._run_ranks(None, 6, None, "auto", 1)
        self.assertEqual(len(document.notes.items), 1)
        self.assertIn("rank 5 runs another program", document.notes.items[0])

    def test_all_ranks(self):
        _session._run_rank = recorded(lambda rank: "aten.same")
        document = _session._run_ranks(None, 6, None, "all", 1).document()
        self.assertEqual([c["rank"] for c in document["classes"]], list(range(6)))
        self.assertEqual(len(document["programs"]), 1)

    def test_errors_of_a_child(self):
        def fails(*_):
            raise _session.CaptureError("no such thing\n  hint: another")

        _session._run_rank = fails
        with self.assertRaises(_session.CaptureError) as caught:
            _session._run_ranks(None, 6, None, "auto", 1)
        self.assertEqual(str(caught.exception), "no such thing\n  hint: another")
        self.assertIn("in fails", caught.exception.where)

        def dies(*_):
            os._exit(9)

        _session._run_rank = dies
        with self.assertRaisesRegex(_session.CaptureError, "was killed"):
            _session._run_ranks(None, 6, None, "auto", 1)

    def test_sizes_are_checked(self):
        with self.assertRaisesRegex(_session.CaptureError, "world size 0"):
            _session._run_ranks(None, 0, None, "auto", 1)
        with self.assertRaisesRegex(_session.CaptureError, "the mesh has 8 ranks, the world 6"):
            _session._run_ranks(None, 6, [("dp", 8)], "auto", 1)


class Tensor:
    """Anything that takes an attribute."""


class Values(unittest.TestCase):
    """No NaN and no infinity anywhere; what else the host asks for is not known."""

    def after(self, name, *inputs, args=None):
        out = Tensor()
        _values.notice(name, args or inputs, list(inputs), [out])
        return _values.is_no(out)

    def test_questions(self):
        x, y = Tensor(), Tensor()
        self.assertTrue(self.after("aten.isnan", x))
        self.assertTrue(self.after("aten.isinf", x))
        self.assertTrue(self.after("aten.ne", x, x))
        self.assertFalse(self.after("aten.ne", x, y))
        self.assertTrue(self.after("aten.eq", x, args=(x, float("inf"))))
        self.assertFalse(self.after("aten.eq", x, args=(x, 0.0)))
        self.assertFalse(self.after("aten.any", x))

    def test_answers_of_answers(self):
        no, other = Tensor(), Tensor()
        _values.notice("aten.isnan", (other,), [other], [no])
        self.assertTrue(self.after("aten.any", no))
        self.assertTrue(self.after("aten.logical_or", no, no))
        self.assertFalse(self.after("aten.logical_or", no, other))
        self.assertFalse(self.after("aten.logical_not", no))

    def test_scaler_of_gradients(self):
        gradient, found, scale = Tensor(), Tensor(), Tensor()
        _values.notice(_values.UNSCALES, ([gradient], found, scale), [gradient, found, scale], [])
        self.assertTrue(_values.is_no(found))
        self.assertFalse(_values.is_no(gradient))


class Groups(unittest.TestCase):
    def test_dimensions_of_the_mesh(self):
        groups = _session._Groups(12, 7)
        groups.mesh = [("pp", 2), ("dp", 3), ("tp", 2)]
        # rank 7 = pp 1, dp 0, tp 1
        self.assertEqual(groups.coordinates(7), [1, 0, 1])
        self.assertEqual(groups.entry([6, 7]), {"dims": ["tp"]})
        self.assertEqual(groups.entry([7, 9, 11]), {"dims": ["dp"]})
        self.assertEqual(groups.entry([1, 7]), {"dims": ["pp"]})
        self.assertEqual(groups.entry([6, 7, 8, 9, 10, 11]), {"dims": ["dp", "tp"]})
        self.assertEqual(groups.entry(range(12)), {"dims": ["pp", "dp", "tp"]})
        self.assertEqual(groups.entry([7, 8]), {"ranks": [7, 8]})


class Document(unittest.TestCase):
    def test_written_whole(self):
        capture = Capture("a test", 1, [])
        tensor = capture.tensor("bf16", [4, 8], None, 1)
        self.assertEqual(tensor, capture.tensor("bf16", [4, 8], None, 1))
        call = capture.call("aten.relu", [tensor], [tensor], {})
        unused = capture.tensor("fp32", [1], None, 1)
        capture.call("aten.warm_up", [unused], [unused], {})
        capture.add(0, {"storages": [], "alive": [], "ops": [[call, 0, "f", 0]]})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.json")
            capture.write(path)
            with open(path, encoding="utf-8") as file:
                written = json.load(file)
            self.assertEqual(written["tensors"], [["bf16", [4, 8]]])
            self.assertEqual([c["op"] for c in written["calls"]], ["aten.relu"])
            self.assertEqual(os.listdir(folder), ["c.json"])


if __name__ == "__main__":
    unittest.main()
