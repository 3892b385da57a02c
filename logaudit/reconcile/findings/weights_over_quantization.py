"""The weights are larger than the model's name and quantisation suggest."""

from __future__ import annotations

import regex

from logaudit.launches.model import Reading
from logaudit.reconcile import measures as m
from logaudit.reconcile.case import Case, Found

CODE = "weights_over_quantization"
SEVERITIES = ("notice",)


SIZE = regex.compile(r"(?:^|[-_])(\d{1,4}(?:\.\d{1,2})?)[bB](?=[-_.]|$)")
BITS = (
    (4.5, ("w4a16", "w4a8", "int4", "awq", "gptq", "nvfp4", "mxfp4", "fp4", "4bit")),
    (8.0, ("fp8", "w8a8", "int8", "8bit")),
)
TOLERANCE = {4.5: 1.8, 8.0: 1.5}


def find(case: Case) -> Found | None:
    """A heuristic: fires when all ranks' weights are far over parameters x bits of the declared quantisation."""
    path = case.launch.args.get("model_path")
    layout = m.groups(case)
    if not isinstance(path, str) or layout is None or layout.dp_attention:
        return None
    name = path.rstrip("/").rsplit("/", 1)[-1][:200]
    size = SIZE.search(name, timeout=5)
    weights: dict[tuple[int | None, int | None], Reading] = {}
    for rank in case.launch.ranks:
        own = rank.workers[0].weights
        if own is not None:
            weights.setdefault((rank.key.pp, rank.key.tp), own)
    declared = (
        " ".join(
            str(value).lower()
            for value in (name, case.launch.args.get("quantization"), case.launch.ranks[0].workers[0].quant)
            if value
        )
        if case.launch.ranks
        else ""
    )
    bits = next((bits for bits, words in BITS if any(word in declared for word in words)), None)
    if size is None or bits is None or len(weights) < layout.world:
        return None
    total = sum(reading.gib.value for reading in weights.values())
    expected = float(size[1]) * 1e9 * bits / 8 / 2**30
    if expected < 1 or total <= TOLERANCE[bits] * expected:
        return None
    numbers = {"total": total, "expected": expected, "billions": size[1], "bits": bits, "ranks": len(weights)}
    return Found(CODE, "notice", numbers, tuple(reading.line for reading in list(weights.values())[:1]))
