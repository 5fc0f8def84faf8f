"""Abbreviations that Lean libraries build names from, and the English that people and docstrings use for them.

In: nothing. Out: `WRITTEN_OUT`, applied to every word of every name, so that `mul_comm` and "multiplication is
commutative" meet. Chosen by measurement: each has one meaning in nearly all names, and together they raise the recall
of premises and leave that of questions as it was. Relations (`le`, `eq`) and number types (`nat`) are left short:
writing them out made texts longer and nothing better. So are words whose English means something else in mathematics,
or names one notion that the long word would drown (`symm`, `iso`, `det`, `id`).
"""

from __future__ import annotations

from typing import Final

WRITTEN_OUT: Final[dict[str, tuple[str, ...]]] = {
    "abs": ("absolute",),
    "ae": ("almost", "everywhere"),
    "assoc": ("associative",),
    "bij": ("bijective",),
    "card": ("cardinality",),
    "coeff": ("coefficient",),
    "comm": ("commutative",),
    "comp": ("composition",),
    "compl": ("complement",),
    "deriv": ("derivative",),
    "diff": ("difference",),
    "dist": ("distance",),
    "div": ("divide",),
    "dvd": ("divides",),
    "equiv": ("equivalence",),
    "fderiv": ("frechet", "derivative"),
    "gcd": ("greatest", "common", "divisor"),
    "hom": ("homomorphism",),
    "inf": ("infimum",),
    "inj": ("injective",),
    "inter": ("intersection",),
    "inv": ("inverse",),
    "lcm": ("least", "common", "multiple"),
    "lim": ("limit",),
    "max": ("maximum",),
    "mem": ("member",),
    "min": ("minimum",),
    "mod": ("modulo",),
    "mul": ("multiply",),
    "neg": ("negative",),
    "nhds": ("neighborhood",),
    "nn": ("nonnegative",),
    "pow": ("power",),
    "prod": ("product",),
    "refl": ("reflexive",),
    "smul": ("scalar", "multiply"),
    "sq": ("square",),
    "sqrt": ("square", "root"),
    "sub": ("subtract",),
    "succ": ("successor",),
    "sup": ("supremum",),
    "surj": ("surjective",),
    "trans": ("transitive",),
}
"""Lower-case word → the words that stand in its place."""
