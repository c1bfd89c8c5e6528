"""JUnit XML: one suite for each offer, one test case for each obligation."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from fedspec_suite.judge.expected_failures import Complaint
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.verdict import Obligation, Result, Status
from fedspec_suite.report import sentences


def junit(results: Sequence[Result], complaints: Sequence[Complaint], ran: str) -> str:
    """Return the text of the JUnit file.

    Args:
        results: the offers.
        complaints: faults of the file of expected failures.
        ran: profile, seed and duration of the run, in words.
    """
    root = Xml.Element("testsuites", name="fedspec")
    for r, name in zip(results, sentences.labels(results), strict=True):
        suite = Xml.SubElement(root, "testsuite", name=escape_controls(name))
        for o in r.obligations:
            case = Xml.SubElement(
                suite, "testcase", classname=escape_controls(name), name=escape_controls(o.id), time=f"{o.seconds:.3f}"
            )
            _outcome(case, o, r)
        if open_in := sentences.OPEN_IN.get(r.verdict):
            case = Xml.SubElement(suite, "testcase", classname=escape_controls(name), name=f"{open_in}/any")
            Xml.SubElement(case, "skipped", message=escape_controls(sentences.head(r)))
        _counted(suite)
        told = (sentences.head(r), *sentences.remedies(r), r.command, ran, sentences.beyond([r]))
        Xml.SubElement(suite, "system-out").text = escape_controls("; ".join(filter(None, told)))
    if complaints:
        suite = Xml.SubElement(root, "testsuite", name="expected failures")
        for c in complaints:
            case = Xml.SubElement(suite, "testcase", classname="expected failures", name=escape_controls(c.entry.place))
            Xml.SubElement(case, "failure", message=escape_controls(str(c)))
        _counted(suite)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _outcome(case: Xml.Element, o: Obligation, r: Result) -> None:
    said = escape_controls(sentences.finding_alone(o))
    match o.status:
        case Status.FAIL:
            told = filter(None, (sentences.in_equations(r), *sentences.remedies(r)))
            message = escape_controls("; ".join(told)) or said
            Xml.SubElement(case, "failure", message=message, type="deviation").text = escape_controls(
                "\n".join(filter(None, (said, sentences.words(o.law), sentences.head(r), r.command))), keep="\n"
            )
        case Status.ERROR | Status.INCONCLUSIVE:
            # JUnit has no word for what could not be decided; it must not look like a pass.
            Xml.SubElement(case, "error", message=said, type=str(o.status)).text = escape_controls(o.detail, keep="\n")
        case Status.SKIP:
            Xml.SubElement(case, "skipped", message=said)
        case Status.XFAIL:
            Xml.SubElement(case, "skipped", message=said, type="xfail")


def _counted(suite: Xml.Element) -> None:
    """Say how many of each there are, as readers of the format want."""
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(list(suite.iter(tag)))))
    suite.set("time", f"{sum(float(case.get('time', 0)) for case in suite.iter('testcase')):.3f}")
