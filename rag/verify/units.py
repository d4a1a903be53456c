"""Number words, units and bounds, as texts write them."""

from . import listed

_SMALL = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
NUMBERS = {word: float(n) for n, word in enumerate(_SMALL)}
NUMBERS |= {word: 10.0 * n for n, word in enumerate(_TENS, start=2)} | {"dozen": 12.0}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
ORDINALS = {
    word: float(n)
    for n, word in enumerate(
        listed("first second third fourth fifth sixth seventh eighth"), start=1
    )
}
FRACTIONS = {"half": 50.0, "third": 100 / 3, "thirds": 100 / 3, "quarter": 25.0, "quarters": 25.0}
FACTORS = {
    "twice": 2.0, "double": 2.0, "doubles": 2.0, "doubled": 2.0, "doubling": 2.0, "triple": 3.0,
    "triples": 3.0, "tripled": 3.0, "thrice": 3.0, "twofold": 2.0, "threefold": 3.0,
    "fourfold": 4.0, "fivefold": 5.0, "tenfold": 10.0, "quadruple": 4.0, "halve": 0.5,
    "halves": 0.5, "halved": 0.5,
}  # fmt: skip
# Unit → (dimension, how many of the smallest of its kind).
UNITS: dict[str, tuple[str, float]] = {
    **{w: ("time", 1e-9) for w in ("ns", "nanosecond")},
    **{w: ("time", 1e-6) for w in ("us", "µs", "μs", "microsecond")},
    **{w: ("time", 1e-3) for w in ("ms", "msec", "millisecond")},
    **{w: ("time", 1.0) for w in ("s", "sec", "second")},
    **{w: ("time", 60.0) for w in ("min", "minute")},
    **{w: ("time", 3600.0) for w in ("h", "hr", "hour")},
    **{w: ("time", 86400.0) for w in ("d", "day")},
    "week": ("time", 604800.0), "month": ("time", 2629800.0), "year": ("time", 31557600.0),
    "decade": ("time", 315576000.0), "yr": ("time", 31557600.0),
    "nm": ("length", 1e-9), "um": ("length", 1e-6), "mm": ("length", 1e-3), "cm": ("length", 1e-2),
    "m": ("length", 1.0), "meter": ("length", 1.0), "metre": ("length", 1.0), "km": ("length", 1e3),
    "kilometer": ("length", 1e3), "kilometre": ("length", 1e3), "mile": ("length", 1609.344),
    "centimeter": ("length", 1e-2), "millimeter": ("length", 1e-3), "inch": ("length", 0.0254),
    "m^2": ("area", 1.0), "km^2": ("area", 1e6), "cm^2": ("area", 1e-4), "mm^2": ("area", 1e-6),
    "mg": ("mass", 1e-6), "g": ("mass", 1e-3), "gram": ("mass", 1e-3), "kg": ("mass", 1.0),
    "kilogram": ("mass", 1.0), "ton": ("mass", 1e3), "tonne": ("mass", 1e3), "µg": ("mass", 1e-9),
    "kb": ("memory", 1e3), "mb": ("memory", 1e6), "gb": ("memory", 1e9), "tb": ("memory", 1e12),
    "gib": ("memory", 1.073741824e9), "mib": ("memory", 1048576.0), "byte": ("memory", 1.0),
    "megabyte": ("memory", 1e6), "gigabyte": ("memory", 1e9), "terabyte": ("memory", 1e12),
    "hz": ("frequency", 1.0), "khz": ("frequency", 1e3), "mhz": ("frequency", 1e6),
    "ghz": ("frequency", 1e9), "fps": ("frame rate", 1.0), "db": ("level", 1.0),
    "v": ("voltage", 1.0), "mv": ("voltage", 1e-3), "w": ("power", 1.0), "mw": ("power", 1e-3),
    "kw": ("power", 1e3), "watt": ("power", 1.0), "kilowatt": ("power", 1e3),
    "j": ("energy", 1.0), "mj": ("energy", 1e-3), "kwh": ("energy", 3.6e6),
    "joule": ("energy", 1.0),
    "degree": ("angle", 1.0), "°": ("angle", 1.0), "rad": ("angle", 57.29578),
    "radian": ("angle", 57.29578), "dollar": ("money", 1.0), "usd": ("money", 1.0),
    "euro": ("euros", 1.0), "bit": ("bits", 1.0), "kbps": ("bit rate", 1e3),
    "mbps": ("bit rate", 1e6), "gbps": ("bit rate", 1e9),
}  # fmt: skip
CASED = {"M": 1e6, "K": 1e3, "B": 1e9, "T": 1e12, "k": 1e3}
POINTS = frozenset(["point", "pp", "pt"])
BEFORE: tuple[tuple[str, str], ...] = (
    ("up to", "<="), ("at most", "<="), ("no more than", "<="), ("not more than", "<="),
    ("as many as", "<="), ("as much as", "<="), ("as high as", "<="), ("maximum of", "<="),
    ("at least", ">="), ("no less than", ">="), ("no fewer than", ">="), ("not less than", ">="),
    ("minimum of", ">="), ("as few as", ">="), ("as little as", ">="), ("as low as", ">="),
    ("more than", ">"), ("above", ">"), ("exceeding", ">"), ("exceeds", ">"),
    ("exceed", ">"), ("greater than", ">"), ("larger than", ">"), ("higher than", ">"),
    ("beyond", ">"), (">", ">"), ("≥", ">="), ("≤", "<="), ("<", "<"),
    ("less than", "<"), ("under", "<"), ("below", "<"), ("fewer than", "<"), ("lower than", "<"),
    ("smaller than", "<"),
    ("over", "~>"), ("about", "~"), ("around", "~"),
    ("approximately", "~"), ("roughly", "~"), ("nearly", "~"),
    ("almost", "~"), ("close to", "~"), ("some", "~"), ("~", "~"), ("≈", "~"), ("circa", "~"),
)  # fmt: skip
AFTER = {"or more": ">=", "and more": ">=", "and above": ">=", "or less": "<=", "or fewer": "<="}
