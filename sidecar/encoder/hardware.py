"""Whether this processor multiplies bfloat16 in hardware.

In: what the operating system says about the processor. Out: yes or no. Without such instructions bfloat16 is emulated
and slower than float32, so the rule is: bfloat16 only where one of `BFLOAT16_FLAGS` is listed, float32 elsewhere.
"""

from __future__ import annotations

from pathlib import Path

BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
"""Names in the `flags` line of /proc/cpuinfo (x86). Other processors are taken to have none: not measured."""

_CPUINFO = Path("/proc/cpuinfo")


def has_fast_bfloat16(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether bfloat16 weights are faster than float32 here; False where the processor cannot be asked."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() == "flags":
                    return not BFLOAT16_FLAGS.isdisjoint(value.split())
    except OSError:
        pass
    return False
