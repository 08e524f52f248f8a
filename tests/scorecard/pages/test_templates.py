"""One count: the scorecard as data, its coverage, its line in words, the replication reports."""

import itertools

from scorecard.collate import Collation, summarise
from scorecard.pages.scorecard import _count_outputs
from scorecard.prints import documents, printed_rows
from scorecard.publishing.release import make_reports
from scorecard.publishing.site import _list_verdicts

VERDICTS = itertools.cycle(["matches", "holds under", "does not hold", "open", "used"])


def test_row_lists_agree():
    verdicts = {
        id: {
            "verdict": next(VERDICTS),
            "basis": "computed", "computed": "", "interval": None, "page": "a/page",
            "assumes": [], "condition": "", "reason": "",
        }
        for id, row in printed_rows().items()
    }  # fmt: skip
    found = Collation("paper", True, verdicts=verdicts)
    assert len(_list_verdicts(found)) == len(printed_rows())
    assert f"{len(printed_rows())} rows" in summarise(found)
    assert summarise(found).endswith("; 0 rows still to come")
    for report in make_reports(verdicts):
        key = report.document.key
        assert len(report.rows) == documents()[key].rows
        assert f"{documents()[key].rows} rows in all" in report.abstract
        found_here = _count_outputs({"verdicts": verdicts}, key)
        outputs = sum(sum(each.values()) for each in found_here.values())
        inputs = [row for row, said in report.rows if said["verdict"] == "used"]
        assert outputs + len(inputs) == documents()[key].rows
