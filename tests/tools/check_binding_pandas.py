#!/usr/bin/env python3
"""A result as a table of pandas; run where pandas is installed."""
import unittest

import binding_case
import pandas
import stepcast


class Table(unittest.TestCase):
    def test_frame(self):
        """a table of pandas has a row for each stage"""
        plan = stepcast.Plan(tp=2, pp=4, micro_batch=1, global_batch=64, seq=4096, recompute="full")
        result = stepcast.evaluate("llama3-8b", plan, "dgx-h100:32")
        frame = result.to_dataframe()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(list(frame.index), [result.breakdown(stage).stage for stage in range(4)])
        self.assertEqual(list(frame["bubble_us"]), [result.breakdown(stage).bubble_us for stage in range(4)])
        self.assertEqual(list(frame["memory_total_bytes"]), [result.memory(stage).total for stage in range(4)])
        parts = [f"{part}_us" for part in ("compute", "recompute", "bubble", "exposed", "skew", "other")]
        self.assertLess((frame[parts].sum(axis=1) - result.step_us).abs().max(), 1e-3)


binding_case.main(Table)
