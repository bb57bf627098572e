"""Checks `ldp_pca_format` on the test vectors, and on what the document says beyond them.

    python3 test_format.py [VECTORS_FOLDER]

prints a line per file of vectors and per further check; it ends with code 1 and the differences where
something differs. The folder is `../vectors` unless it is given.
"""

import hashlib
import json
import math
import random
import sys
import time
from decimal import Decimal, localcontext
from pathlib import Path
from statistics import NormalDist

import ldp_pca_format as wire

problems = []


def expect(what, got, expected):
    """Note a difference."""
    if got != expected:
        problems.append(what)
        print(f"DIFFERENT: {what}\n  expected {shown(expected)}\n  got      {shown(got)}")
    return got == expected


def shown(value):
    """A value, shortened if it is long."""
    line = repr(value)
    return line if len(line) <= 2000 else f"{line[:2000]} … ({len(line)} characters)"


def refused(what, action, *arguments):
    """Expect that the action refuses its arguments."""
    try:
        action(*arguments)
    except wire.FormatError:
        return
    expect(what, "taken", "refused")


# ---------------------------------------------------------------------------------------------------------
# The vectors
# ---------------------------------------------------------------------------------------------------------


def check_tasks(cases):
    """Spellings of tasks: canonical JSON, digest, feature names, length of reports."""
    for case in cases:
        name, task = case["name"], wire.Task.read(case["text"])
        expect(f"{name}: canonical", task.canonical.decode(), case["canonical"])
        expect(f"{name}: digest", task.digest.hex(), case["digest"])
        expect(f"{name}: feature_names", task.feature_names, case["feature_names"])
        expect(f"{name}: report_bytes", task.report_length, case["report_bytes"])
        again = wire.Task.read(task.canonical)
        expect(f"{name}: read again", again.canonical, task.canonical)
    return f"{len(cases)} tasks"


def check_reports(cases):
    """Digests, reports and aggregates, and the estimates of those that have one."""
    reports = 0
    for case in cases:
        name, task = case["name"], wire.Task.read(json.dumps(case["task"]))
        expect(f"{name}: digest", task.digest.hex(), case["digest"])
        if "first" in case:
            parent = wire.Task.read(json.dumps(case["first"])).digest.hex()
            expect(f"{name}: parent", parent, task.refinement["parent"])
        aggregate = wire.Aggregate(task)
        for number, item in enumerate(case["reports"]):
            report = wire.make_report(task, item["record"], wire.Stream.seeded(bytes.fromhex(item["seed"])))
            expect(f"{name}: report {number}", report.hex(), item["report"])
            aggregate.add(bytes.fromhex(item["report"]))
            reports += 1
        data = bytes.fromhex(case["aggregate"])
        expect(f"{name}: aggregate", aggregate.encode(), data)
        decoded = wire.Aggregate.decode(task, data)
        expect(f"{name}: read and written", decoded.encode(), data)
        check_merging(name, task, case["reports"], data)
        if "second_moment" in case:
            moments, mean = wire.estimate(task, decoded)
            check_close(f"{name}: second moment", sum(moments, []), case["second_moment"])
            check_close(f"{name}: mean", mean or [], case["mean"])
        check_strict(name, task, bytes.fromhex(case["reports"][0]["report"]), data)
    return f"{len(cases)} tasks, {reports} reports, {len(cases)} aggregates"


def check_merging(name, task, items, data):
    """The sums of parts are the sum of the whole, and nothing is added twice."""
    reports = [bytes.fromhex(item["report"]) for item in items]
    aggregate, other = wire.Aggregate(task), wire.Aggregate(task)
    for number, report in enumerate(reports):
        (other if number % 2 else aggregate).add(report)
    aggregate.merge(other)
    expect(f"{name}: merged", aggregate.encode(), data)
    refused(f"{name}: a report twice", aggregate.add, reports[-1])
    refused(f"{name}: a sum twice", aggregate.merge, aggregate)


def check_ids(cases):
    """The first tags of many ids."""
    for case in cases:
        task = wire.Task.read(json.dumps(case["task"]))
        aggregate = wire.Aggregate(task)
        ids = [hashlib.sha256(str(number).encode()).digest()[:16] for number in range(case["count"])]
        aggregate.add_tags([wire.tag(task, report_id) for report_id in ids])
        expect(f"{case['name']}", hashlib.sha256(b"".join(aggregate.tags)).hexdigest(), case["tags"])
    return f"{sum(case['count'] for case in cases)} ids"


def check_components(cases):
    """Canonical JSON of components, scores of records, and documents that are to be refused."""
    for case in cases:
        name, found = case["name"], wire.Components.read(case["text"])
        expect(f"{name}: canonical", found.canonical.decode(), case["canonical"])
        expect(f"{name}: read again", wire.Components.read(found.canonical).canonical, found.canonical)
        for item in case["records"]:
            expect(f"{name}: scores of {item['record']}", found.scores(item["record"]), item["scores"])
    whole = cases[0]["canonical"]
    changes = [
        ('"version":1', '"version":2'), ('"version":1', '"version":1,"more":1'), ('"task":"2c', '"task":"2C'),
        ('"task":"2c', '"task":"'), ('"feature_names":["height"', '"feature_names":["size"'),
        ('"records":20000', '"records":0'), ('"records":20000', '"records":2e4'),
        ('"records":20000', '"records":9007199254740993'), ('"mean":[0.25,', '"mean":['),
        ('"mean":[0.25', '"mean":[null'),
        ('"total_variance":0.98', '"total_variance":null'), ('"noise_edge":0.031,', ""), ("0.031", "1e999"),
        ('"loadings":[0.5,', '"loadings":['), (',"variance":null', ""), ('"share_found"', '"share"'),
        (',"sin_theta_squared":0.0625', ""), ("1.25", "-1.25"),
    ]
    for old, new in changes:
        expect(f"{old!r} is in the components", old in whole, True)
        refused(f"components with {new!r} for {old!r}", wire.Components.read, whole.replace(old, new, 1))
    return f"{sum(len(case['records']) for case in cases)} records, {len(changes)} refusals"


def check_close(what, found, expected):
    """Numbers that are the same to a part in 10^6 of the largest, as far as integrals are computed there and here."""
    largest = max(map(abs, expected), default=0.0)
    far = [abs(a - b) for a, b in zip(found, expected) if not abs(a - b) <= 1e-6 * largest]
    expect(f"{what}: {far[:3]}", [len(found), far], [len(expected), []])


def check_strict(name, task, report, aggregate):
    """Reports and aggregates that are changed anywhere are refused."""

    def decode(data):
        return wire.Aggregate.decode(task, data)

    for what, data, read in (("report", report, wire.Aggregate(task).add), ("aggregate", aggregate, decode)):
        for at in range(0, len(data), 1 + len(data) // 50):
            changed = bytearray(data)
            changed[at] ^= 1 << at % 8
            refused(f"{name}: {what} with byte {at} changed", read, bytes(changed))
            if at < (13 if what == "report" else 37):  # magic, version, digest: also with a right checksum
                refused(f"{name}: {what} with byte {at} changed", read, wire.sealed(bytes(changed[:-4])))
        for wrong in (b"", data[:-1], data + b"\0", wire.sealed(data[:-4] + b"\0"), wire.sealed(data[:-5])):
            refused(f"{name}: {what} of {len(wrong)} bytes", read, wrong)
    if task.parameters["type"] == "double-cap":
        beyond = task.mechanism.J.to_bytes(2, "little")
        refused(f"{name}: candidate J", wire.Aggregate(task).add, wire.sealed(report[:29] + beyond))


# ---------------------------------------------------------------------------------------------------------
# Statements of the document beyond the vectors
# ---------------------------------------------------------------------------------------------------------

NUMERIC = '{"type":"numeric","name":"a","offset":0,"scale":1}'
COLOUR = '{"type":"categorical","name":"c","values":["red","other"],"unseen":"other"}'
CAP = '{"type":"double-cap","epsilon":2,"candidates":64,"cap":8}'
GAUSS = '{"type":"gaussian","epsilon":1,"delta":1e-6,"calibration":"analytic"}'
CLIP = '{"type":"clip","radius":1.5}'
TASK = (
    f'{{"version":1,"schema":{{"columns":[{NUMERIC},{COLOUR}]}},"bounding":{CLIP},'
    f'"centring":{{"weight":0.25}},"mechanism":{CAP},"period":"2026-W48","folds":1}}'
)


def spherical(dimension, mechanism, extra=""):
    """A task of numeric columns with offset 0 and scale 1."""
    columns = ",".join(f'{{"type":"numeric","name":"x{i}","offset":0,"scale":1}}' for i in range(dimension))
    bounding = extra or '"bounding":{"type":"unit-norm"},'
    return f'{{"version":1,"schema":{{"columns":[{columns}]}},{bounding}"mechanism":{mechanism},"folds":1}}'


def check_refusals():
    """Tasks that are to be refused, each a task that is taken with one thing replaced."""
    wire.Task.read(TASK)
    wire.Task.read(TASK.replace(CAP, GAUSS))
    members = {
        '"version":1': '2 "1" 1,"version":1', '"offset":0': '1.1e100 NaN 1e999 "0" null .5',
        '"folds":1': '0 65 true 1,"more":1 1, 1}} -1 01', '"scale":1': "0 1e-101 -1e101",
        '"name":"a"': '"" "c" 1 "\\ud800" "\n"', '"unseen":"other"': '"one"', '"radius":1.5': "9e-151 -1 2e150",
        '"centring":{"weight":0.25}': 'null {} {"weight":0.0099} {"weight":0.991}', '"cap":8': "0 33",
        '"period":"2026-W48"': f'"" 2026 null "48\\n" "\u0664" "{"x" * 65}" "week\\u002048"',
        '"candidates":64': '1 16385 15 "64"', '"epsilon":2': "9e-7 21.49 20.2 -2",
    }
    changes = [(old, f'{old[: old.index(":", 1)]}:{new}') for old, each in members.items() for new in each.split(" ")]
    changes += [
        ('"version":1,', ""), ('"folds":1}', '"folds":1} x'), ('"numeric"', '"Numeric"'),
        ('"red"', '"other"'), ('"other"]', '"Other"]'), (f"[{NUMERIC},{COLOUR}]", "[]"),
        (f"[{NUMERIC},{COLOUR}]", '[{"type":"ignored","name":"n"}]'),
        (NUMERIC, '{"type":"ignored","name":"n","scale":1}'),
        ('"clip","radius":1.5', '"unit-norm","radius":1.5'), (',"radius":1.5', ""),
        ('"candidates":64,"cap":8', '"candidates":2049,"cap":2'),
        (CAP, GAUSS.replace("1e-6", "1e-18")), (CAP, GAUSS.replace("1e-6", "1")),
        (CAP, GAUSS.replace('"analytic"', '"Analytic"')), (CAP, GAUSS.replace(',"calibration":"analytic"', "")),
    ]
    for old, new in changes:
        expect(f"{old!r} is in the task", old in TASK, True)
        refused(f"task with {new!r} for {old!r}", wire.Task.read, TASK.replace(old, new, 1))
    refused("bytes that are not UTF-8", wire.Task.read, TASK.encode().replace(b'"red"', b'"r\xff"'))
    refused("a byte order mark", wire.Task.read, "\ufeff" + TASK)
    refused("a deep document", wire.Task.read, "[" * 100000)
    refused("an array", wire.Task.read, "[]")
    return f"{len(changes) + 4} tasks"


def check_numbers():
    """Canonical numbers and texts."""
    spellings = {
        "180": "180.0", "2.5e-1": "0.25", "1e-5": "0.00001", "0.000001": "1e-6", "0.0000123": "0.0000123",
        "1.5e300": "1.5e+300", "1e15": "1000000000000000.0", "1e16": "1e+16", "1234567890123456": "1234567890123456.0",
        "-0.0": "-0.0", "0e5": "0.0", "-12.50": "-12.5", "5e-324": "5e-324", "0.00001234": "0.00001234",
        "9007199254740993": "9007199254740992.0", "12345678901234567": "1.2345678901234568e+16",
        "1.7976931348623157e308": "1.7976931348623157e+308",
    }
    for spelling, canonical in spellings.items():
        expect(f"number {spelling}", wire.canonical_number(float(spelling)), canonical)
    written = '"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\x7fé😀"'
    expect("text", wire.canonical_text('"\\/\b\t\n\f\r\x01\x1f\x7fé😀'), written)
    return f"{len(spellings)} numbers and a text"


def check_coordinates():
    """Missing and unlisted values, and the bounding of extreme vectors."""
    numeric = {"type": "numeric", "name": "a", "offset": 0.0, "scale": 1e-10}
    zero = {"type": "categorical", "name": "c", "values": ["red", "na", "other"], "unseen": "zero"}
    other = dict(zero, unseen="other")
    for value, feature in ((1e308, wire.LARGEST), (-1e308, -wire.LARGEST), (None, 0.0), (math.nan, 0.0)):
        expect(f"feature of {value}", wire.numeric_feature(value, numeric), feature)
    cases = [(" red\t", zero, 0), ("x", zero, None), ("x", other, 2), (None, other, None), (" ", other, None)]
    for value, column, at in cases:
        expect(f"features of {value!r}", wire.category_features(value, column), [float(i == at) for i in range(3)])
    for field, column, value in (
        ("NA", numeric, None), (" nan ", numeric, None), ("1.5", numeric, 1.5), ("na", zero, "na"), ("nil", zero, None),
    ):
        expect(f"field {field!r}", wire.from_file(field, column), value)
    unit, clip = {"type": "unit-norm"}, {"type": "clip", "radius": 2.0}
    for bounding, v, x in (
        (unit, [3.0, 4.0], [0.6, 0.8]), (unit, [0.0, 0.0], [0.0, 0.0]), (unit, [-5e-324, 0.0], [-1.0, 0.0]),
        (unit, [wire.LARGEST, 0.0], [1.0, 0.0]), (clip, [0.6, 0.8], [0.3, 0.4]),
        (clip, [-wire.LARGEST, 0.0], [-1.0, 0.0]),
    ):
        expect(f"bounded {v}", wire.bounded(bounding, v), x)
    return f"{len(cases) + 15} values"


def check_constants():
    """Published keystreams, the table of the document, W, t and the alias table."""
    expect("ChaCha20", wire.chacha(bytes(32), 20, 0, 2)[:16].hex(), "76b8e0ada0f13d90405d6ae55386bd28")
    expect("ChaCha8", wire.chacha(bytes(32), 8, 0, 3)[:16].hex(), "3e00ef2f895f40d67f5bb8e81f09a5a1")
    far = 2**32 - 1
    both = wire.chacha(bytes(32), 8, far, 1) + wire.chacha(bytes(32), 8, far + 1, 1)
    expect("the block counter has 64 bits", wire.chacha(bytes(32), 8, far, 2), both)
    expect("length of the table", len(wire.TABLE), 65536)
    expect("sum of squares", sum(a * a for a in wire.TABLE), wire.SQUARES)
    expect("the table's construction", constructed_table(), wire.UPPER)
    with localcontext(prec=60):
        for epsilon in (1e-6, 0.1, 1.0, 2.0, 4.0, math.pi, 10.0, 21.48):
            expect(f"W of {epsilon}", wire.exact_w(epsilon), int(2**32 * Decimal(epsilon).exp()))
    # In the plane s^2 is 1 + cos(a) for a uniform angle a: the larger of two has the mean 1 + 4 / pi^2.
    found = wire.mean_of_largest(2, 1, wire.coordinate(2))
    expect("t for J = 2", abs(found - 1 - 4 / math.pi**2) < 1e-6, True)
    keeps, above = wire.alias_table()
    weights = list(keeps)
    for column, other in enumerate(above):
        weights[other] += 2**119 - keeps[column]
    with localcontext(prec=60):
        exact = int(2**127 * wire.erf(1 / (16 * Decimal(2).sqrt())))
        expect("weight of cell 0", 0 <= weights[0] - exact <= 208, True)
        expect("erf(1)", f"{wire.erf(Decimal(1)):.40f}", "0.8427007929497148693412206350826092592961")
    expect("weights of all cells", (sum(weights), weights[208:]), (2**127, [0] * 48))
    return "keystreams, table, W, t, cells"


def constructed_table():
    """The upper half of the table of coordinates, by the document's construction."""
    normal, squares, entries, last = NormalDist(), 0, [], 127
    while len(entries) < 32768:
        width = 1 if len(entries) < 64 else 16
        lower = 1 - (len(entries) + width) / 65536
        q = normal.inv_cdf(lower)
        goal = 65536 * 29**2 * (q * normal.pdf(q) + normal.cdf(-q))  # E[G^2; G > q] = q phi(q) + Phi(-q)
        last = min(range(last + 1), key=lambda size: abs(squares + width * size * size - goal))
        squares += width * last * last
        entries += [last] * width
    return entries[::-1]


def simulate(text, record, reports, seed):
    """Reports of one record; the largest deviation of the estimate, in standard errors."""
    task = wire.Task.read(text)
    stream = wire.Stream(random.Random(seed).randbytes)
    single, aggregate = [], wire.Aggregate(task)
    for _ in range(reports):
        report = wire.make_report(task, record, stream)
        aggregate.add(report)
        one = wire.Aggregate(task)
        one.add(report)
        single.append(flat(*wire.estimate(task, one)))
    x = wire.bounded(task.bounding, record)
    unit = task.bounding.get("radius", 1.0)
    truth = flat([[unit * unit * a * b for b in x] for a in x], task.centring and [unit * a for a in x])
    worst = 0.0
    for entry, expected, *values in zip(flat(*wire.estimate(task, aggregate)), truth, *single):
        variance = sum((value - entry) ** 2 for value in values) / (reports - 1)
        worst = max(worst, abs(entry - expected) / math.sqrt(variance / reports))
    return worst


def flat(moments, mean):
    """The upper triangle of the moments, and the mean, as one list."""
    return [a for i, row in enumerate(moments) for a in row[i:]] + list(mean or ())


def check_estimates():
    """Debiased estimates of a few thousand reports are within 5 standard errors of x x^T and x."""
    cap = '{"type":"double-cap","epsilon":3,"candidates":8,"cap":2}'
    gauss = '{"type":"gaussian","epsilon":3,"delta":1e-5,"calibration":"%s"}'
    clipped = '"bounding":{"type":"clip","radius":2},"centring":{"weight":0.25},'
    worst = []
    for mechanism in (cap, gauss % "analytic", gauss % "paper"):
        for extra, record in (("", [0.5, -2.0, 1.0]), (clipped, [0.5, -1.2, 1.0])):
            worst.append(simulate(spherical(3, mechanism, extra), record, 3000, 1))
            expect(f"{mechanism} {extra}: {worst[-1]:.2f} standard errors", worst[-1] < 5.0, True)
    return "largest deviations " + ", ".join(f"{a:.2f}" for a in worst) + " standard errors"


def main():
    """Run all checks."""
    here = Path(__file__).resolve().parent
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "vectors"
    kinds = {"tasks.json": check_tasks, "ids.json": check_ids, "scores.json": check_components}
    folders = ("v1", "aggregates", "components")
    files = sorted(path for name in folders for path in folder.glob(f"{name}/*.json"))
    if not kinds.keys() <= {path.name for path in files}:
        sys.exit(f"not all files of vectors are in {folder}")
    checks = [(path.name, kinds.get(path.name, check_reports), path) for path in files]
    for check in (check_refusals, check_numbers, check_coordinates, check_constants, check_estimates):
        checks.append((check.__name__, check, None))
    for name, check, path in checks:
        before, start = len(problems), time.perf_counter()
        try:
            summary = check() if path is None else check(json.loads(path.read_text("utf-8"))["cases"])
        except Exception as error:  # a check that cannot be run is a difference too
            problems.append(name)
            summary = f"{type(error).__name__}: {error}"
        verdict = "ok" if len(problems) == before else f"{len(problems) - before} DIFFERENCES"
        print(f"{name}: {verdict} ({summary}; {time.perf_counter() - start:.1f} s)")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
