"""A second implementation of docs/reference/wire-format.md, written from that document alone.

It needs Python 3.11 and nothing else. It is made to be read next to the document, not to be fast: the
sections below have the document's order and names.

In short:

    task = Task.read(text)                             # a task, strictly
    report = make_report(task, record, Stream(os.urandom))
    aggregate = Aggregate(task)
    aggregate.add(report)
    estimate(task, aggregate)                          # second moments, and the mean where there is centring
    Components.read(text).scores(record)               # the place of a record along published components
"""

import collections
import functools
import hashlib
import json
import math
import re
import struct
import zlib
from decimal import ROUND_FLOOR, Decimal, localcontext

VERSION = 1  # of tasks
TINY = 2.0**-1022  # the smallest positive normal number
LARGEST = math.ldexp(2.0 - 2.0**-52, 1023)  # the largest finite number


class FormatError(ValueError):
    """What was read is not what the document allows."""


def demand(condition, message):
    """Refuse with a message unless the condition holds."""
    if not condition:
        raise FormatError(message)


# ---------------------------------------------------------------------------------------------------------
# Task: reading
# ---------------------------------------------------------------------------------------------------------


class Spelling(str):
    """A number as a JSON document spells it."""


def read_json(document):
    """Parse JSON strictly: UTF-8, no repeated members, no NaN. Numbers stay as they are spelled."""
    if isinstance(document, str):
        document = document.encode("utf-8", "surrogatepass")
    demand(len(document) <= 2**24, "the document has more than 2^24 bytes")

    def members(pairs):
        result = dict(pairs)
        demand(len(result) == len(pairs), "a repeated member")
        return result

    def constant(name):
        raise FormatError(f"{name} is not JSON")

    try:
        return json.loads(
            document.decode("utf-8"),
            object_pairs_hook=members,
            parse_int=Spelling,
            parse_float=Spelling,
            parse_constant=constant,
        )
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from error


def take(value, what, names, optional=()):
    """The object `value`, if it has just these members."""
    demand(isinstance(value, dict), f"{what} is not an object")
    for name in value:
        demand(name in names or name in optional, f"{what} has an unknown member {name!r}")
    for name in names:
        demand(name in value, f"{what} lacks the member {name!r}")
    return value


def integer(value, what, digits="[0-9]{1,20}"):
    """A whole number: `64.0` is none."""
    demand(isinstance(value, Spelling) and re.fullmatch(digits, value), f"{what} is not an integer")
    return int(value)


def number(value, what):
    """A 64-bit floating-point number, of any spelling; what rounds to infinity is refused."""
    demand(isinstance(value, Spelling), f"{what} is not a number")
    demand(math.isfinite(float(value)), f"{what} is too large")
    return float(value)


def text(value, what):
    """A text. Halves of surrogate pairs have no UTF-8 and are refused."""
    demand(isinstance(value, str) and not isinstance(value, Spelling), f"{what} is not a text")
    demand(not re.search("[\ud800-\udfff]", value), f"{what} is not Unicode text")
    return value


def one_of(value, what, *texts):
    """One of the texts that are listed."""
    demand(text(value, what) in texts, f"{what} is not one of {texts}")
    return value


def type_of(value, what, *types):
    """The member `type` of an object, which decides what the others are."""
    demand(isinstance(value, dict) and "type" in value, f"{what} has no type")
    return one_of(value["type"], f"the type of {what}", *types)


#: What each type of column has beside its name.
MEMBERS = {"numeric": ("offset", "scale"), "categorical": ("values", "unseen"), "ignored": ()}


def read_column(value):
    """A column, as a dictionary with its members in the canonical order."""
    kind = type_of(value, "a column", *MEMBERS)
    take(value, f"a column of type {kind}", ("type", "name", *MEMBERS[kind]), ("label",))
    column = {"type": kind, **titles(value)}
    if kind == "numeric":
        column.update({name: number(value[name], f"the {name}") for name in MEMBERS[kind]})
        demand(abs(column["offset"]) <= 1e100, "an offset of magnitude above 10^100")
        demand(1e-100 <= abs(column["scale"]) <= 1e100, "a scale of magnitude outside 10^-100 to 10^100")
    elif kind == "categorical":
        demand(isinstance(value["values"], list), "the values are not an array")
        column["values"] = [text(item, "a value") for item in value["values"]]
        column["unseen"] = one_of(value["unseen"], "unseen", "zero", "other")
        demand(len(set(column["values"])) == len(column["values"]), "a repeated value")
        demand(column["unseen"] == "zero" or "other" in column["values"], "no value other")
    return column


def read_columns(value):
    """The columns of a schema."""
    schema = take(value, "the schema", ("columns",))
    demand(isinstance(schema["columns"], list), "the columns are not an array")
    columns = [read_column(column) for column in schema["columns"]]
    # Names of ignored columns too.
    demand(len({column["name"] for column in columns}) == len(columns), "a repeated name")
    return columns


def read_digest(value, what):
    """The digest of a task, in hexadecimal digits."""
    digest = text(value, what)
    demand(len(digest) == 64 and set(digest) <= set("0123456789abcdef"), f"{what} that is not a digest")
    return digest


def titles(column):
    """The name of a column, and its label if it has one."""
    found = {key: text(column[key], f"a {key}") for key in ("name", "label") if key in column}
    demand(all(found.values()), "an empty name or label")
    return found


def read_bounding(value):
    """The bounding: `unit-norm`, or `clip` with its radius."""
    if type_of(value, "the bounding", "unit-norm", "clip") == "unit-norm":
        take(value, "the bounding", ("type",))
        return {"type": "unit-norm"}
    take(value, "the bounding", ("type", "radius"))
    radius = number(value["radius"], "the radius")
    demand(1e-150 <= radius <= 1e150, "a radius outside 10^-150 to 10^150")
    return {"type": "clip", "radius": radius}


def read_centring(value):
    """The centring: the weight of the constant."""
    take(value, "the centring", ("weight",))
    weight = number(value["weight"], "the weight")
    demand(0.01 <= weight <= 0.99, "a weight outside 0.01 to 0.99")
    return {"weight": weight}


def read_refinement(value, features):
    """The refinement: directions of so many features, weights and clip in integers."""
    take(value, "the refinement", ("parent", "directions", "weights", "clip"))
    parent = read_digest(value["parent"], "a parent")
    rows = [[integer(entry, "an entry", "-?[0-9]{1,20}") for entry in row] for row in value["directions"]]
    demand(1 <= len(rows) <= 64 and len(rows) < features, "too few or too many directions")
    demand(len(rows) * features <= 32768, "too many numbers")
    demand(all(len(row) == features for row in rows), "a direction of another length")
    demand(all(abs(entry) <= 2**20 for row in rows for entry in row), "an entry beyond 2^20")
    for j, first in enumerate(rows):
        for l, second in enumerate(rows):
            product = sum(map(int.__mul__, first, second))
            demand(abs(product - 2**40 * (j == l)) <= 2**32, "directions that are not orthonormal")
    weights = [integer(weight, "a weight") for weight in value["weights"]]
    demand(len(weights) == len(rows) and all(1 <= w <= 2**24 for w in weights), "weights out of range")
    clip = integer(value["clip"], "the clip")
    demand(2**20 <= clip <= 2**48, "a clip out of range")
    return {"parent": parent, "directions": rows, "weights": weights, "clip": clip}


def read_mechanism(value):
    """The mechanism's members. What they have to fulfil is seen when the mechanism is made of them."""
    kind = type_of(value, "the mechanism", "double-cap", "signed-cap", "norm-cap", "gaussian")
    if kind != "gaussian":
        take(value, "the mechanism", ("type", "epsilon", "candidates", "cap"))
        return {
            "type": kind,
            "epsilon": number(value["epsilon"], "epsilon"),
            "candidates": integer(value["candidates"], "candidates"),
            "cap": integer(value["cap"], "cap"),
        }
    take(value, "the mechanism", ("type", "epsilon", "delta", "calibration"))
    return {
        "type": "gaussian",
        "epsilon": number(value["epsilon"], "epsilon"),
        "delta": number(value["delta"], "delta"),
        "calibration": one_of(value["calibration"], "the calibration", "analytic", "paper"),
    }


def read_period(value):
    """The name of a period."""
    demand(re.fullmatch(r"[A-Za-z0-9._:-]{1,64}", text(value, "the period")), "a period of another form")
    return value


class Task:
    """What a task says, its digest, and its mechanism."""

    def __init__(self, value):
        names = ("version", "schema", "bounding", "mechanism", "folds")
        take(value, "the task", names, optional=("centring", "refinement", "period"))
        demand(integer(value["version"], "the version") == VERSION, f"not version {VERSION}")
        self.columns = read_columns(value["schema"])
        self.bounding = read_bounding(value["bounding"])
        self.centring = read_centring(value["centring"]) if "centring" in value else None
        self.period = read_period(value["period"]) if "period" in value else None
        self.folds = integer(value["folds"], "folds")
        demand(1 <= self.folds <= 64, "folds outside 1 to 64")

        self.feature_names = [name for column in self.columns for name in names_of_features(column)]
        self.features = len(self.feature_names)
        most = 32768 if self.centring is None else 32767
        demand(1 <= self.features <= most, "no features, or too many")
        #: coordinates that the mechanism randomizes: the sections' d, or d + 1 with centring
        self.coordinates = self.features + (self.centring is not None)

        self.refinement = read_refinement(value["refinement"], self.features) if "refinement" in value else None
        parameters = read_mechanism(value["mechanism"])
        signed = parameters["type"] == "signed-cap"
        demand(signed == (self.refinement is not None), "signed-cap goes with a refinement")
        demand(self.refinement is None or self.centring is None, "a refinement with centring")
        self.parameters = parameters
        self.canonical = self.canonical_json()
        demand(len(self.canonical) <= 2**24, "the document has more than 2^24 bytes")
        self.digest = hashlib.sha256(self.canonical).digest()
        mechanisms = {"double-cap": DoubleCap, "signed-cap": SignedCap, "norm-cap": NormCap, "gaussian": Gaussian}
        self.mechanism = mechanisms[parameters["type"]](self, parameters)
        demand(self.mechanism.payload_length <= 2**26, "a payload of more than 2^26 bytes")
        demand(self.mechanism.random_numbers <= 2**28, "more than 2^28 random numbers a report")
        self.report_length = 29 + self.mechanism.payload_length + 4

    @classmethod
    def read(cls, document):
        """The task that a document (bytes or text) holds, in whatever spelling."""
        return cls(read_json(document))

    def canonical_json(self):
        """The canonical JSON in UTF-8: what the digest is of."""
        members = {"version": VERSION, "schema": {"columns": self.columns}, "bounding": self.bounding}
        if self.centring is not None:
            members["centring"] = self.centring
        if self.refinement is not None:
            members["refinement"] = self.refinement
        members["mechanism"] = self.parameters
        if self.period is not None:
            members["period"] = self.period
        members["folds"] = self.folds
        return canonical(members).encode()


def names_of_features(column):
    """The features' names. The document has none; these are those of `tasks.json`."""
    if column["type"] == "numeric":
        return [column["name"]]
    return [f"{column['name']}={value}" for value in column.get("values", ())]


# ---------------------------------------------------------------------------------------------------------
# Task: canonical JSON
# ---------------------------------------------------------------------------------------------------------


def canonical(value):
    """Canonical JSON of dictionaries whose members are in their order already."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{canonical(name)}:{canonical(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return canonical_text(value)
    if value is None:
        return "null"
    return canonical_number(value) if isinstance(value, float) else str(value)


def canonical_number(value):
    """A floating-point number. Python's `repr` has the digits: the fewest, and of several the nearest."""
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    _, digits, exponent = Decimal(repr(abs(value))).normalize().as_tuple()
    digits = "".join(map(str, digits))
    p = len(digits) + exponent  # the value is 0.digits 10^p
    if not -4 <= p <= 16:
        tail = "." + digits[1:] if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{p - 1:+d}"
    if p <= 0:
        return f"{sign}0.{'0' * -p}{digits}"
    whole, fraction = digits[:p].ljust(p, "0"), digits[p:]
    return f"{sign}{whole}.{fraction or '0'}"


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def canonical_text(value):
    """A text in quotes, with what must be escaped."""
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda m: ESCAPES.get(m[0], f"\\u{ord(m[0]):04x}"), value) + '"'


# ---------------------------------------------------------------------------------------------------------
# ChaCha
# ---------------------------------------------------------------------------------------------------------


@functools.cache
def lanes(count):
    """The integer that has a 1 in each of `count` lanes of 64 bits."""
    return int.from_bytes((b"\1" + bytes(7)) * count, "little")


def chacha(key, rounds, first, count):
    """Keystream blocks `first`, `first` + 1, …: ChaCha with a 64-bit block counter and the 64-bit nonce 0.

    All blocks are computed at once: a state word is one long integer, with a lane of 64 bits per block of
    which the lower 32 are in use.
    """
    ones = lanes(count)
    mask = ones * 0xFFFFFFFF
    counters = [first + i for i in range(count)]
    low = int.from_bytes(struct.pack(f"<{count}Q", *(c & 0xFFFFFFFF for c in counters)), "little")
    high = int.from_bytes(struct.pack(f"<{count}Q", *(c >> 32 for c in counters)), "little")
    fixed = [ones * word for word in struct.unpack("<12I", b"expand 32-byte k" + key)]
    start = fixed + [low, high, 0, 0]
    state = list(start)

    def quarter(a, b, c, d):
        for target, left, right, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[target] = (state[target] + state[left]) & mask
            mixed = state[right] ^ state[target]
            state[right] = (mixed << turn | mixed >> (32 - turn)) & mask

    for _ in range(rounds // 2):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    sums = (((a + b) & mask).to_bytes(8 * count, "little") for a, b in zip(state, start))
    columns = [struct.unpack(f"<{count}Q", data) for data in sums]
    return b"".join(struct.pack("<16I", *block) for block in zip(*columns))


# ---------------------------------------------------------------------------------------------------------
# What is drawn
# ---------------------------------------------------------------------------------------------------------


class Stream:
    """The stream of bytes from which a report takes its randomness. `read(n)` gives n bytes of it."""

    def __init__(self, read):
        self.read = read

    @classmethod
    def seeded(cls, seed):
        """The stream of the vectors: the keystream of ChaCha with 20 rounds."""
        buffer, block = b"", 0

        def read(count):
            nonlocal buffer, block
            while len(buffer) < count:
                buffer += chacha(seed, 20, block, 16)
                block += 16
            taken, buffer = buffer[:count], buffer[count:]
            return taken

        return cls(read)

    def word(self):
        """A 64-bit little-endian integer."""
        return int.from_bytes(self.read(8), "little")

    def below(self, bound):
        """A uniform integer below `bound`."""
        while True:
            word = self.word()
            if word >= 2**64 % bound:
                return word % bound


# ---------------------------------------------------------------------------------------------------------
# From a record to coordinates
# ---------------------------------------------------------------------------------------------------------

BLANK = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" \
        "\u2028\u2029\u202f\u205f\u3000"


def numeric_feature(value, column):
    """The feature of a numeric column; None is a missing value."""
    if value is None:
        return 0.0
    demand(isinstance(value, (int, float)) and not isinstance(value, bool), "not a number")
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        return 0.0
    feature = (value - column["offset"]) / column["scale"]
    return feature if math.isfinite(feature) else math.copysign(LARGEST, feature)


def category_features(value, column):
    """The features of a categorical column; None is a missing value."""
    values = column["values"]
    features = [0.0] * len(values)
    if value is None:
        return features
    demand(isinstance(value, str), "not a text")
    value = value.strip(BLANK)
    if value not in values and value and column["unseen"] == "other":
        value = "other"
    if value in values:
        features[values.index(value)] = 1.0
    return features


MISSING_IN_FILES = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil"}


def from_file(field, column):
    """The value of a CSV field: None where it is missing, a number, or a text."""
    field = field.strip(BLANK)
    if column["type"] == "categorical" and field in column["values"]:
        return field
    if field.lower() in MISSING_IN_FILES:
        return None
    if column["type"] != "numeric":
        return field
    demand(re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?inf(inity)?", field, re.I),
           "not a number")
    return float(field)


def features_of(task, record):
    """The vector v of a record: an object with a member per column (or none: missing), or v itself."""
    if isinstance(record, list):
        demand(len(record) == task.features, "not the task's number of features")
        return [numeric_feature(value, {"offset": 0.0, "scale": 1.0}) for value in record]
    names = {column["name"] for column in task.columns}
    demand(all(name in names for name in record), "a name that the task has not")
    features = []
    for column in task.columns:
        value = record.get(column["name"])
        if column["type"] == "numeric":
            features.append(numeric_feature(value, column))
        elif column["type"] == "categorical":
            features += category_features(value, column)
    return features


def total(numbers):
    """The sum from the first to the last, each step rounded. (From Python 3.12 `sum` is more precise.)"""
    result = 0.0
    for value in numbers:
        result += value
    return result


def bounded(bounding, v):
    """The bounded vector x."""
    largest = max(TINY, max(map(abs, v)))
    norm = max(math.sqrt(total((a / largest) * (a / largest) for a in v)), TINY)
    if bounding["type"] == "clip" and largest / bounding["radius"] * norm <= 1.0:
        return [a / bounding["radius"] for a in v]
    return [a / largest / norm for a in v]


def centred(weight, x):
    """The vector y that is randomized in place of x."""
    factor = math.sqrt(1.0 - weight)
    return [factor * (0.0 if abs(a) < 2.0**-900 else a) for a in x] + [math.sqrt(weight)]


def coordinates_of(task, record):
    """What the mechanism randomizes: x, or y."""
    x = bounded(task.bounding, features_of(task, record))
    return x if task.centring is None else centred(task.centring["weight"], x)


# ---------------------------------------------------------------------------------------------------------
# Report
# ---------------------------------------------------------------------------------------------------------


def sealed(data):
    """The bytes, and behind them their CRC-32."""
    return data + struct.pack("<I", zlib.crc32(data))


def make_report(task, record, stream, issued_id=None):
    """A report of the record. The stream is not touched for the id if the aggregator issued one."""
    x = coordinates_of(task, record)
    report_id = stream.read(16) if issued_id is None else issued_id
    payload = task.mechanism.randomize(x, report_id, stream)
    return sealed(b"LDPR\1" + task.digest[:8] + report_id + payload)


def unsealed(data, begin):
    """Refuse bytes that do not begin with this name, version and digest, or have a wrong checksum."""
    demand(data[:4] == begin[:4], "of another kind")
    demand(data[4] == begin[4], "of another version")
    demand(data == sealed(data[:-4]), "a wrong checksum")
    demand(data[5 : len(begin)] == begin[5:], "of another task")


def open_report(task, report):
    """Report id and payload of a report's bytes; anything but a report of this task is refused."""
    demand(len(report) == task.report_length, "a report of another length")
    unsealed(report, b"LDPR\1" + task.digest[:8])
    return report[13:29], report[29:-4]


def triangle(size):
    """The entries (i, j) of the upper triangle, row by row."""
    return ((i, j) for i in range(size) for j in range(i, size))


# ---------------------------------------------------------------------------------------------------------
# Payload of `double-cap`
# ---------------------------------------------------------------------------------------------------------

MAGNITUDES = """
432 880 928 896 912 848 944 800 960 768 928 768 912 720 896 704 848 688 816 672
752 640 752 576 720 544 672 528 608 528 528 512 496 448 496 384 464 368 400 352
368 304 336 288 304 256 256 240 240 208 208 192 176 176 144 176 112 160 96 128
96 112 64 128 48 80 64 80 32 80 16 80 16 48 32 32 32 32 16 16
32 16 16 16 0 32 0 16 0 16 5 7 4 8 2 7 1 6 1 3
3 2 1 3 0 2 2 0 1 0 2 0 1 0 0 1 0 0 0 1
0 0 0 0 0 0 0 1
"""
UPPER = [size for size, times in enumerate(map(int, MAGNITUDES.split())) for _ in range(times)]
TABLE = [-size for size in reversed(UPPER)] + UPPER  # T[65535 - k] = -T[k]
SQUARES = 55115722  # the sum of the squares of all entries
SCALE_SQUARED = SQUARES / 65536


def exact_w(epsilon):
    """W = floor(2^32 e^epsilon), by the series in integers; where that cannot tell, epsilon is refused."""
    mantissa, exponent = math.frexp(epsilon)
    m, s = int(math.ldexp(mantissa, 53)), 53 - exponent  # epsilon = m / 2^s, 2^52 <= m < 2^53
    term, series, n = 2**96, 0, 0
    while term:
        series += term
        n += 1
        term = (term * m >> s) // n
    shortfall = 2 * n * ((series >> 96) + 2)
    demand((series + shortfall) >> 64 == series >> 64, "W is not certain for this epsilon")
    return series >> 64


class DoubleCap:
    """The mechanism `double-cap` of a task."""

    payload_length = 2

    def __init__(self, task, parameters):
        epsilon, self.J, self.L = parameters["epsilon"], parameters["candidates"], parameters["cap"]
        demand(1e-6 <= epsilon <= 21.48, "epsilon outside 1e-6 to 21.48")
        demand(2 <= self.J <= 16384, "candidates outside 2 to 16384")
        demand(self.J <= 1024 * self.L and 2 * self.L <= self.J, "cap outside J / 1024 to J / 2")
        self.W = exact_w(epsilon)
        self.inside = self.L * self.W  # the weight of the cap
        self.weight = self.inside + (self.J - self.L) * 2**32  # the weight of all candidates
        demand(self.weight < 2**64, "L W + (J - L) 2^32 is not below 2^64")
        self.m = task.coordinates + 1
        self.short = self.m <= 20
        self.blocks = -(-self.m // 40)
        self.key = task.digest[:16]
        self.random_numbers = self.J * self.m
        self.entries = self.m * (self.m + 1) // 2

    def direction(self, x):
        """The vector u: x, with the lifting coordinate."""
        return x + [math.sqrt(max(0.0, 1.0 - total(a * a for a in x)))]

    def candidate(self, data):
        """Coordinates z, vector v, factor f and offset h of the candidate whose blocks are `data`."""
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        t = [TABLE[16 * (w >> shift & 0xFFF) + (w >> 60)] for w in words for shift in (0, 12, 24, 36, 48)]
        if self.short:
            v, h, s, square = [29 * t[i] + t[20 + i] for i in range(self.m)], 0, 24, 127**2
        else:
            n = [w >> 60 for w in words[:8]]
            a = (n[0] ^ n[4]) + 16 * (n[1] ^ n[5])
            b = (n[2] ^ n[6]) + 16 * (n[3] ^ n[7])
            v, h, s, square = t[: self.m], 384 * (a + b - 255), 16, 625 * self.m
        f = math.isqrt((square << 2 * s) // max(1, sum(a * a for a in v)))
        rounding = [f * (i + 1) * 2654435769 % 2**32 >> 8 if self.short else 2**15 for i in range(self.m)]
        z = [max(-127, min(127, (f * a + r) >> s)) for a, r in zip(v, rounding)]
        return z, v, f, h

    def rounded(self, u, noise):
        """The integers U, rounded at random with the bytes `noise`."""
        result = []
        for a, b in zip(u, noise):
            a = 0.0 if abs(a) < TINY else min(1.0, max(-1.0, a))
            result.append(int(32767.0 * a + (32768.0 + (b + 0.5) / 256.0)) - 32768)
        return result

    def cap(self, u, report_id):
        """The indices in the cap, ascending."""
        length = 64 * self.blocks
        behind = self.J * self.blocks  # the block behind the last candidate
        data = chacha(self.key + report_id, 8, 0, behind + -(-self.m // 64))
        direction = self.rounded(u, data[64 * behind :])
        sizes = []
        for j in range(self.J):
            _, v, f, h = self.candidate(data[j * length : (j + 1) * length])
            sizes.append(abs(f * (sum(map(int.__mul__, v, direction)) + h)))
        return sorted(sorted(range(self.J), key=lambda j: (-sizes[j], j))[: self.L])

    def randomize(self, x, report_id, stream):
        """The payload: the index of a candidate."""
        t, cap = stream.below(self.weight), self.cap(self.direction(x), report_id)
        if t < self.inside:
            k = cap[t // self.W]
        else:
            members = set(cap)
            k = [j for j in range(self.J) if j not in members][(t - self.inside) >> 32]
        return struct.pack("<H", k)

    def named(self, payload):
        """The candidate that a report names."""
        (j,) = struct.unpack("<H", payload)
        demand(j < self.J, "no such candidate")
        return j

    def summands(self, report_id, payload):
        """What a report adds: z z^T of the candidate that it names."""
        j = self.named(payload)
        z, *_ = self.candidate(chacha(self.key + report_id, 8, j * self.blocks, self.blocks))
        return [z[a] * z[b] for a, b in triangle(self.m)]

    @functools.cached_property
    def gain(self):
        """What z z^T / scale^2 has more in the direction u than in others, on average."""
        J, L, m = self.J, self.L, self.m
        law = coordinate(m)
        t, q = mean_of_largest(J, L, law), self.inside / self.weight
        ideal = q * t + (1.0 - q) * (J - L * t) / (J - L) - 1.0
        kept = 1.0
        if not self.short:
            least = exceeded(law, L / J) ** 2
            variance = 384.0**2 * 65535.0 / (6.0 * 32767.0**2) / SCALE_SQUARED
            kept -= variance * m / (m - 2.0) / (1.0 - least / m)
        return kept * ideal * m / (m - 1.0)

    @functools.cached_property
    def scale_squared(self):
        """The mean of |z|^2 / m."""
        return 127.0**2 / self.m + 1.0 / 6.0 if self.short else long_scale(self.m)

    def unbiased(self, i, j, entry, reports):
        """The estimate of entry (i, j) from its sum over all reports."""
        return (entry / (reports * self.scale_squared) - (i == j)) / self.gain + (i == j) / self.m


@functools.cache
def coordinate(m, steps=40000):
    """Of |s|, ascending: its square, its probability, and that of a larger one. With s = sqrt(m) cos(a), the density of
    the angle a is proportional to sin(a)^(m-2); the root of a has even steps."""
    nodes, beyond, total = [], 0.0, 0.0
    for i in range(steps):
        root = (i + 0.5) / steps
        angle = math.pi / 2.0 * root * root
        weight = root * math.exp((m - 2.0) * math.log(math.sin(angle)))
        nodes.append((m * math.cos(angle) ** 2, weight, total + weight / 2.0))
        total += weight
    return [(square, weight / total, beyond / total) for square, weight, beyond in reversed(nodes)]


def exceeded(law, share):
    """s_0, which |s| exceeds with probability `share`."""
    at = next(i for i, (_, _, beyond) in enumerate(law) if beyond <= share)
    (low, _, more), (high, _, less) = law[at - 1], law[at]
    return math.sqrt(low) + (math.sqrt(high) - math.sqrt(low)) * (more - share) / (more - less)


def mean_of_largest(J, L, law):
    """t: the mean of the L largest of J squares."""
    logs = [math.lgamma(J) - math.lgamma(k + 1) - math.lgamma(J - k) for k in range(L)]

    def at_most(p):  # P[Bin(J - 1, p) <= L - 1]
        if p >= 1.0:
            return 0.0
        yes, no = math.log(p), math.log1p(-p)
        return math.fsum(math.exp(logs[k] + k * yes + (J - 1 - k) * no) for k in range(L))

    return J / L * math.fsum(square * weight * at_most(beyond) for square, weight, beyond in law if weight > 1e-18)


@functools.cache
def long_scale(m):
    """scale^2 of long vectors: floor(x + 1/2)^2 is the sum of 2 j + 1 over all j below x - 1/2."""
    v, square, mean = 2.0 / (9.0 * (m - 1)), 625.0 * m, (m - 1) * SCALE_SQUARED
    counts = collections.Counter(abs(entry) for entry in TABLE)
    places = [(i - 600) * 0.01 for i in range(1201)]
    weights = [math.exp(-g * g / 2.0) for g in places]
    total = sum(weights)
    others = [mean * max(0.0, 1.0 - v + g * math.sqrt(v)) ** 3 for g in places]
    shrunk = added = 0.0
    for k, count in counts.items():
        share = count / 65536.0
        for weight, other in zip(weights, others):
            shrunk += share * weight / total * math.sqrt((k * k + other) / square)
            added -= share * weight / total * k * k * square / (k * k + other)
        for j in range(127):
            most = max(0.0, k * k * square / (j + 0.5) ** 2 - k * k) / mean
            g = (most ** (1.0 / 3.0) - 1.0 + v) / math.sqrt(v)
            added += share * (2 * j + 1) * 0.5 * math.erfc(-g / math.sqrt(2.0))
    return 625.0 * (1.0 - shrunk / 65536.0) + added


# ---------------------------------------------------------------------------------------------------------
# Payload of `gaussian`
# ---------------------------------------------------------------------------------------------------------

DIGITS = 90  # of all that is computed with `decimal`


@functools.cache
def pi():
    """Pi, by Machin's formula 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan(inverse):
        term, result, n = Decimal(1) / inverse, Decimal(0), 1
        while term > Decimal(10) ** -(DIGITS + 5):
            result += (term if n % 4 == 1 else -term) / n
            term /= inverse * inverse
            n += 2
        return result

    with localcontext(prec=DIGITS + 10):
        return 16 * arctan(5) - 4 * arctan(239)


def erf(x):
    """The error function of a `Decimal` x, to about 10^-85: 2 x e^(-x^2) / sqrt(pi) sum (2 x^2)^n / (2 n + 1)!!"""
    if x < 0:
        return -erf(-x)
    with localcontext(prec=DIGITS):
        square = x * x
        if square > 200:
            return Decimal(1)
        term, result, n = x, Decimal(0), 0
        while term > result * Decimal(10) ** -DIGITS:
            result += term
            n += 1
            term = term * 2 * square / (2 * n + 1)
        return 2 * result * (-square).exp() / pi().sqrt()


def analytic_sigma(epsilon, delta, coordinates):
    """The least sigma that gives (epsilon, delta - slack) at sensitivity sqrt(2), to 10^-30."""
    with localcontext(prec=DIGITS):
        epsilon, root = Decimal(epsilon), Decimal(2).sqrt()
        demand(epsilon < 1000, "epsilon is too large")
        power = epsilon.exp()
        goal = Decimal(delta) - (1 + power) * (coordinates * (coordinates + 1) // 2) / 2**59
        demand(goal > 0, "delta is not above the slack")

        def normal(value):  # Phi
            return (1 + erf(value / root)) / 2

        def given(sigma):
            a, b = 1 / (root * sigma), epsilon * sigma / root
            return normal(a - b) - power * normal(-a - b)

        low, high = Decimal(2) ** -20, Decimal(2) ** 30  # beyond what the lattice allows
        while high / low - 1 > Decimal(10) ** -30:
            middle = (low * high).sqrt()
            low, high = (middle, high) if given(middle) > goal else (low, middle)
        return high


def lattice(deviation):
    """Shift a and multiplier M for a deviation."""
    with localcontext(prec=DIGITS):
        r = 16 / deviation

        def multiplier(a):
            return int((r * 2 ** (a - 40)).to_integral_value(ROUND_FLOOR))

        shifts = [a for a in range(40, 63) if multiplier(a) < 2**22]
        demand(shifts, "the noise is too small")
        demand(multiplier(shifts[-1]) > 0, "the noise is too large")
        return shifts[-1], multiplier(shifts[-1])


@functools.cache
def alias_table():
    """Per column the number below which it keeps itself, and what it is above."""
    with localcontext(prec=DIGITS):
        edges = [erf(m / (16 * Decimal(2).sqrt())) for m in range(209)]
        q = [int((2**127 * (b - a)).to_integral_value(ROUND_FLOOR)) for a, b in zip(edges, edges[1:])]
    q[0] += 2**127 - sum(q)
    q += [0] * 48
    full = 2**119
    keeps, above = [full] * 256, list(range(256))
    small = [m for m in range(256) if q[m] < full]
    large = [m for m in range(256) if q[m] >= full]
    while small and large:
        s, l = small.pop(), large[-1]
        keeps[s], above[s] = q[s], l
        q[l] -= full - q[s]
        if q[l] < full:
            small.append(large.pop())
    return keeps, above


def draw_16g(stream):
    """16 G for a standard normal G, as (cell, U): it is cell + U / 2^64."""
    keeps, above = alias_table()
    w = stream.word()
    c, negative, h = w & 255, w >> 8 & 1, w >> 9
    high, low = divmod(keeps[c], 2**64)
    kept = stream.word() < low if h == high else h < high
    m = c if kept else above[c]
    while True:
        u, v = stream.word(), stream.word()
        if v >= ((u >> 9) + 1) * (2 * m + 1):
            break
        n, t = 1, (2 * m * u + (u * u >> 64)) >> 9
        while v < t // n:
            n += 1
            v = stream.word()
        if n % 2 == 1:
            break
    return (-m - 1, 2**64 - 1 - u) if negative else (m, u)


class SignedCap(DoubleCap):
    """The mechanism `signed-cap` of the task of a refinement."""

    def __init__(self, task, parameters):
        super().__init__(task, parameters)
        self.refinement = task.refinement
        self.m = len(self.refinement["directions"]) * task.features + 1
        self.M = max(2048, 1 << (self.m - 1).bit_length())
        self.blocks = self.M // 512
        self.random_numbers = self.J * self.M
        self.entries = self.M

    def direction(self, x):
        """The vector u of products of the parts along the directions with those across them."""
        V, W, C = (self.refinement[name] for name in ("directions", "weights", "clip"))
        X = [int((0.0 if abs(a) < 2.0**-900 else a) * 2**20 + (2**21 + 0.5)) - 2**21 for a in x]
        a = [(sum(map(int.__mul__, row, X)) + 2**19) // 2**20 for row in V]
        b = [X[i] - (sum(row[i] * c for row, c in zip(V, a)) + 2**19) // 2**20 for i in range(len(X))]
        p = [(w * c + 2**15) // 2**16 for w, c in zip(W, a)]

        def length(numbers):
            square = sum(number * number for number in numbers)
            return math.isqrt(square) + (math.isqrt(square) ** 2 < square)

        M = length(p) * length(b)
        T = max(C, M)
        return [c * e / T for c in p for e in b] + [math.sqrt(float(T - M) * float(T + M)) / T]

    @functools.cached_property
    def flips(self):
        """The signs of the turn's three rounds."""
        signs = self.signs(chacha(self.key + bytes(16), 8, 2**63, 3 * self.blocks))
        return [signs[r * self.M : (r + 1) * self.M] for r in range(3)]

    @staticmethod
    def signs(data):
        """-1 for each bit that is set, the lowest of a byte first, and 1 for the others."""
        return [1 - 2 * (byte >> bit & 1) for byte in data for bit in range(8)]

    def turned(self, u):
        """The M integers V."""
        v = [int((0.0 if abs(a) < 2.0**-900 else a) * 2**20 + (2**21 + 0.5)) - 2**21 for a in u]
        v += [0] * (self.M - self.m)
        for r, flips in enumerate(self.flips):
            v = [a * sign for a, sign in zip(v, flips)]
            half = 1
            while half < self.M:
                for start in range(0, self.M, 2 * half):
                    for i in range(start, start + half):
                        v[i], v[i + half] = v[i] + v[i + half], v[i] - v[i + half]
                half *= 2
            places = (self.M.bit_length() - 1 + r % 2) // 2
            v = [(a + 2 ** (places - 1)) >> places for a in v]
        return v

    def cap(self, u, report_id):
        """The indices in the cap, ascending."""
        v, length = self.turned(u), 64 * self.blocks
        data = chacha(self.key + report_id, 8, 0, self.J * self.blocks)
        candidates = [self.signs(data[j * length : (j + 1) * length]) for j in range(self.J)]
        sizes = [sum(map(int.__mul__, z, v)) for z in candidates]
        return sorted(sorted(range(self.J), key=lambda j: (-sizes[j], j))[: self.L])

    def summands(self, report_id, payload):
        """What a report adds: z of the candidate that it names."""
        return self.signs(chacha(self.key + report_id, 8, self.named(payload) * self.blocks, self.blocks))


class NormCap(DoubleCap):
    """The mechanism `norm-cap` of a task."""

    def __init__(self, task, parameters):
        super().__init__(task, parameters)
        demand(task.bounding["type"] == "clip" and task.centring is None, "norm-cap without clip, or with centring")
        demand(self.J == 2 * self.L and self.L <= 512, "norm-cap with another cap")
        self.random_numbers = 1
        self.entries = self.J

    def direction(self, x):
        """The record itself."""
        return x

    def cap(self, x, report_id):
        """The indices that are true of the record, ascending."""
        square = total(a * a for a in x if abs(a) >= 2.0**-500)
        indices, threshold = [], 1.0
        for i in range(self.L):
            threshold *= math.sqrt(0.5)
            indices.append(2 * i + (square > threshold))
        return indices

    def summands(self, report_id, payload):
        """What a report adds: 1 to the number of its index."""
        j = self.named(payload)
        return [int(j == index) for index in range(self.J)]


class Gaussian:
    """The mechanism `gaussian` of a task."""

    def __init__(self, task, parameters):
        epsilon, delta = parameters["epsilon"], parameters["delta"]
        demand(epsilon > 0.0 and 0.0 < delta < 1.0, "epsilon or delta out of range")
        self.m = task.coordinates
        self.entries = self.random_numbers = self.m * (self.m + 1) // 2
        with localcontext(prec=DIGITS):
            if parameters["calibration"] == "analytic":
                diagonal = analytic_sigma(epsilon, delta, self.m)
                other = diagonal / Decimal(2).sqrt()
            else:
                diagonal = other = (2 * (Decimal("1.25") / Decimal(delta)).ln()).sqrt() / Decimal(epsilon)
        self.diagonal, self.other = lattice(diagonal), lattice(other)
        (a, M), (b, N) = self.diagonal, self.other
        narrow = M <= 32 * 2 ** (a - 40) and N <= 64 * 2 ** (b - 40)
        self.width = 1 if narrow else 2
        self.payload_length = self.width * self.random_numbers

    def rounded(self, x):
        """The integers X, whose squares sum to at most 2^40."""
        result = [int(2.0**20 * a) for a in x]
        squares = sum(a * a for a in result)
        while squares > 2**40:
            i = max(range(len(result)), key=lambda i: (abs(result[i]), i))
            squares -= 2 * abs(result[i]) - 1
            result[i] -= 1 if result[i] > 0 else -1
        return result

    def entry(self, product, shift, multiplier, stream):
        """floor(X_i X_j M / 2^a + 16 G), clamped."""
        cell, u = draw_16g(stream)
        whole, rest = divmod(product * multiplier, 2**shift)
        value = whole + cell + ((rest << (64 - shift)) + u >= 2**64)
        most = 2 ** (8 * self.width - 1) - 1
        return max(-most - 1, min(most, value))

    def randomize(self, x, report_id, stream):
        """The payload: one integer per entry of the upper triangle."""
        X = self.rounded(x)
        payload = b""
        for i, j in triangle(self.m):
            value = self.entry(X[i] * X[j], *(self.diagonal if i == j else self.other), stream)
            payload += value.to_bytes(self.width, "little", signed=True)
        return payload

    def summands(self, report_id, payload):
        """What a report adds: its integers."""
        return struct.unpack(f"<{self.random_numbers}{'b' if self.width == 1 else 'h'}", payload)

    def unbiased(self, i, j, entry, reports):
        """The estimate of entry (i, j) from its sum over all reports."""
        shift, multiplier = self.diagonal if i == j else self.other
        return (entry / reports + 0.5) * (2.0 ** (shift - 40) / multiplier)


# ---------------------------------------------------------------------------------------------------------
# Aggregate
# ---------------------------------------------------------------------------------------------------------


MOST_TAGS = 1024


class Aggregate:
    """The state of a sum: per fold the number of reports and the sums of the entries, and the first tags of ids."""

    def __init__(self, task):
        self.task = task
        self.entries = task.mechanism.entries
        self.counts = [0] * task.folds
        self.sums = [[0] * self.entries for _ in range(task.folds)]
        self.tags = []

    def add(self, report):
        """Add a report."""
        report_id, payload = open_report(self.task, report)
        summands = self.task.mechanism.summands(report_id, payload)
        self.add_tags([tag(self.task, report_id)])
        fold = zlib.crc32(report_id) % self.task.folds
        self.counts[fold] += 1
        self.sums[fold] = list(map(int.__add__, self.sums[fold], summands))

    def merge(self, other):
        """Add the sums of other reports."""
        self.add_tags(other.tags)
        self.counts = list(map(int.__add__, self.counts, other.counts))
        self.sums = [list(map(int.__add__, mine, theirs)) for mine, theirs in zip(self.sums, other.sums)]

    def add_tags(self, tags):
        """Add tags of other ids than those in the sum."""
        demand(not set(self.tags) & set(tags), "reports that are in the sum already")
        self.tags = sorted(self.tags + tags)[:MOST_TAGS]

    def encode(self):
        """The aggregate's bytes."""
        data = b"LDPA\1" + self.task.digest
        for count, sums in zip(self.counts, self.sums):
            data += struct.pack(f"<Q{self.entries}q", count, *sums)
        return sealed(data + b"".join(self.tags))

    @classmethod
    def decode(cls, task, data):
        """The aggregate that the bytes hold; anything but an aggregate of this task is refused."""
        result = cls(task)
        size = 8 + 8 * result.entries
        end = 37 + task.folds * size
        demand(len(data) >= end + 4, "an aggregate of another length")
        unsealed(data, b"LDPA\1" + task.digest)
        for fold in range(task.folds):
            numbers = struct.unpack_from(f"<Q{result.entries}q", data, 37 + fold * size)
            result.counts[fold], result.sums[fold] = numbers[0], list(numbers[1:])
        tags = data[end:-4]
        demand(len(tags) == 20 * min(MOST_TAGS, sum(result.counts)), "not as many tags as reports have")
        result.tags = [tags[at : at + 20] for at in range(0, len(tags), 20)]
        demand(result.tags == sorted(set(result.tags)), "tags in another order")
        return result


def tag(task, report_id):
    """What a sum keeps of an id, if it is among the first: its place in the order of tags, and a hash."""
    a, b = struct.unpack("<QQ", report_id)
    sum_ = (a * 0x9E3779B97F4A7C15 + b * 0xBF58476D1CE4E5B9) % 2**64
    place = ((sum_ ^ sum_ >> 32) * 0x94D049BB133111EB) % 2**64 >> 32
    return struct.pack(">I", place) + hashlib.sha256(b"LDPA id" + task.digest + report_id).digest()[:16]


# ---------------------------------------------------------------------------------------------------------
# From sums to an estimate
# ---------------------------------------------------------------------------------------------------------


def estimate(task, aggregate):
    """The second moments E[v v^T] of the bounded features, as rows, and their mean (None without centring)."""
    reports = sum(aggregate.counts)
    demand(reports > 0, "no reports")
    sums = [sum(column) for column in zip(*aggregate.sums)]
    size, d = task.coordinates, task.features
    S = [[0.0] * size for _ in range(size)]
    for (i, j), entry in zip(triangle(task.mechanism.m), sums):
        if j < size:  # not the lifting coordinate
            S[i][j] = S[j][i] = task.mechanism.unbiased(i, j, entry, reports)
    unit = task.bounding.get("radius", 1.0)
    weight = 0.0 if task.centring is None else task.centring["weight"]
    moments = [[unit * unit * a / (1.0 - weight) for a in row[:d]] for row in S[:d]]
    if task.centring is None:
        return moments, None
    # The document gives the unit R^2 alone; the mean's must be R.
    return moments, [unit * S[i][d] / math.sqrt(weight * (1.0 - weight)) for i in range(d)]


# ---------------------------------------------------------------------------------------------------------
# Components
# ---------------------------------------------------------------------------------------------------------


class Components:
    """Published components, and the scores of records along them."""

    def __init__(self, value):
        names = ("version", "task", "schema", "bounding", "feature_names", "records", "noise_edge", "components")
        take(value, "the components", names, optional=("mean", "total_variance", "prediction"))
        demand(integer(value["version"], "the version") == VERSION, f"not version {VERSION}")
        self.columns = read_columns(value["schema"])
        self.feature_names = [name for column in self.columns for name in names_of_features(column)]
        self.features = len(self.feature_names)
        demand(1 <= self.features <= 32768, "no features, or too many")
        self.bounding = read_bounding(value["bounding"])
        demand(isinstance(value["feature_names"], list), "the names are not an array")
        given = [text(name, "a name") for name in value["feature_names"]]
        demand(given == self.feature_names, "names that are not those of the schema")
        members = {
            "version": VERSION,
            "task": read_digest(value["task"], "a task"),
            "schema": {"columns": self.columns},
            "bounding": self.bounding,
            "feature_names": self.feature_names,
            "records": integer(value["records"], "the number of reports"),
        }
        demand(1 <= members["records"] <= 2**53, "a number of reports out of range")
        self.mean = self.vector(value["mean"], "the mean") if "mean" in value else None
        if self.mean is not None:
            members["mean"] = self.mean
        if "total_variance" in value:
            members["total_variance"] = number(value["total_variance"], "the total variance")
        members["noise_edge"] = number(value["noise_edge"], "the noise edge")
        demand(isinstance(value["components"], list), "the components are not an array")
        self.components = members["components"] = [self.component(component) for component in value["components"]]
        demand(1 <= len(self.components) <= self.features, "no components, or too many")
        if "prediction" in value:
            found = take(value["prediction"], "the prediction", ("sin_theta_squared",), ("share_found",))
            order = ("share_found", "sin_theta_squared")
            members["prediction"] = {name: number(found[name], name) for name in order if name in found}
        self.canonical = canonical(members).encode()

    @classmethod
    def read(cls, document):
        """The components that a document (bytes or text) holds, in whatever spelling."""
        return cls(read_json(document))

    def vector(self, value, what):
        """One number for each feature."""
        demand(isinstance(value, list) and len(value) == self.features, f"{what} has another length")
        return [number(item, f"a number of {what}") for item in value]

    def component(self, value):
        """The loadings of a component, and its variance; None is noise."""
        take(value, "a component", ("loadings", "variance"))
        variance = None if value["variance"] is None else number(value["variance"], "a variance")
        return {"loadings": self.vector(value["loadings"], "the loadings"), "variance": variance}

    def scores(self, record):
        """The score of a record along each component."""
        w = features_of(self, record)
        if self.bounding["type"] == "unit-norm":
            w = bounded(self.bounding, w)
        mean = self.mean or [0.0] * self.features
        return [total((a - m) * l for a, m, l in zip(w, mean, one["loadings"])) for one in self.components]
