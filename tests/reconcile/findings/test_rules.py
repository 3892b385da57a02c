"""Each rule on a log in which it must fire, with its numbers worked out here."""

from __future__ import annotations

import pytest
import regex

from tests.oracle import MODELS
from tests.reconcile.findings.starts import READY, SEED, codes, cut_after, fixture, found, start, words


def numbers(name: str, code: str, **given: object) -> dict[str, object]:
    finding = found(start(fixture(name), **given), code)
    assert finding is not None
    return dict(finding.numbers)


def test_fraction_of_what() -> None:
    finding = words(start(SEED), "fraction_of_what")
    assert f"{94.04 * 0.12:.2f} GiB" in finding.detail
    assert f"{0.88 * 21.71:.2f} GiB is not what the cache gets" in finding.detail
    assert "10.42 GiB is" in finding.detail


def test_reserve_consumed() -> None:
    """Free after the weights, less the KV cache, less what is left: 21.71 - 10.42 - 7.43."""
    finding = found(start(SEED), "reserve_consumed")
    assert finding is not None
    assert finding.numbers["taken"] == pytest.approx(21.71 - 10.42 - 7.43, abs=0.02)
    assert finding.numbers["left"] == pytest.approx(7.43)
    parts = dict(finding.numbers["parts"])
    assert parts["cuda graph"] == pytest.approx(1.51)


def test_draft_from_reserve() -> None:
    finding = found(start(SEED), "draft_from_reserve")
    assert finding is not None
    assert finding.numbers["total"] == pytest.approx(0.95 + 0.60 + 0.15 + 0.15)
    assert finding.severity == "info"


def test_a_draft_that_the_formula_pays_for() -> None:
    """0.5.14 loads the draft's weights before it sizes the pool."""
    fired = codes(start(fixture("0.5.14__dsv3-tp8-nextn")))
    assert "draft_in_budget" in fired
    assert "draft_from_reserve" not in fired


def test_user_cap_binds() -> None:
    given = numbers("0.5.2__llama8b-cap200001", "user_cap")
    assert given["cap"] == 200001
    assert given["lost"] == pytest.approx(given["uncapped"] - 200001, abs=1)  # type: ignore[operator]


def test_cap_that_has_no_effect() -> None:
    given = numbers("0.5.16__llama8b-capbig", "cap_above_profiled")
    assert given["cap"] == 9000000
    assert "user_cap" not in codes(start(fixture("0.5.16__llama8b-capbig")))


def test_a_cap_where_no_token_fits() -> None:
    text = regex.sub(r"profiled value \d+", "profiled value -561981", fixture("0.5.16__llama8b-capbig").read_text())
    finding = words(start(text), "cap_above_profiled")
    assert finding.severity == "warning"
    assert "No token fits: -561,981" in finding.title
    assert "has no effect" not in finding.title


def test_page_rounding() -> None:
    given = numbers("0.5.13__llama8b-page64-mf09", "page_rounding")
    assert given["page"] == 64
    assert given["mib"] == pytest.approx(64 * 131072 / 2**20, rel=0.001)


def test_one_rank_decides() -> None:
    """0.4.8 prints the first rank's readings only: the rule stays silent there, and speaks where all ranks print."""
    assert "rank_minimum" not in codes(start(fixture("0.4.8__llama70b-tp4-unbal")))
    text = SEED.read_text().replace("TP3] Load weight end", "TP3] LWE", 1)
    lines = text.splitlines(keepends=True)
    text = "".join(
        line.replace("LWE", "Load weight end").replace("avail mem=21.71", "avail mem=20.71") if "LWE" in line else line
        for line in lines
    )
    finding = found(start(text), "rank_minimum")
    assert finding is not None
    assert finding.severity == "notice"
    assert finding.numbers["rank"] == "TP3"
    assert finding.numbers["spread"] == pytest.approx(1.00)
    assert finding.numbers["unused"] == pytest.approx(7 * 1.00)


def test_unbalanced_ranks() -> None:
    text = SEED.read_text()
    at = text.index("TP5] Load weight begin. avail mem=94.04")
    text = text[:at] + text[at:].replace("avail mem=94.04", "avail mem=80.00", 1)
    finding = found(start(text), "unbalanced_ranks")
    assert finding is not None
    assert (finding.severity, finding.numbers["rank"]) == ("warning", "TP5")
    assert finding.numbers["share"] == pytest.approx(80.00 / 94.04 * 100)


def test_pipeline_stage_binds() -> None:
    given = numbers("0.5.9__dsv3-tp4pp2-uneven", "pp_stage_binds")
    stages = dict(given["stages"])  # type: ignore[call-overload]
    assert given["stage"] == min(stages, key=stages.__getitem__)


def test_sliding_window_split() -> None:
    given = numbers("0.5.14__gptoss-tp1-ratio05-p64", "swa_split")
    assert given["flag"] == 0.5
    assert given["ratio"] == pytest.approx(0.5, abs=0.001)
    assert given["follows"]


def test_window_layers_that_hold_everything() -> None:
    given = numbers("0.4.7__gemma3-12b", "swa_layers_full", model_config=MODELS / "gemma3-12b.json")
    assert given["layers"] == 40
    assert given["all"] == 48


def test_mamba_state_over_kv() -> None:
    given = numbers("0.5.11__qwen3next-tp4-nextn", "mamba_over_kv")
    assert given["state"] > given["kv"]  # type: ignore[operator]


def test_mamba_slots_cap_the_requests() -> None:
    given = numbers("0.5.22__qwen3next-tp4", "mamba_caps_requests")
    assert given["running"] == given["slots"] // 5  # type: ignore[operator]


def test_sparse_pool_larger_than_its_budget() -> None:
    """FP8 until 0.5.16: 656 + 132 bytes a token and layer are stored, 576 + 132 are counted."""
    given = numbers("0.5.13__dsv32-tp2-fp8", "dsa_over_budget", model_config=MODELS / "deepseek-v32.json")
    assert given["counted"] == pytest.approx((576 + 132) * 61)
    assert given["stored"] == pytest.approx((656 + 132) * 61, rel=0.001)


def test_kv_heads_replicated() -> None:
    """Qwen2.5 7B has 4 KV heads: 8 ranks hold each twice."""
    given = numbers("0.5.9__qwen25-tp8-repl", "kv_heads_replicated", model_config=MODELS / "qwen25-7b.json")
    assert (given["heads"], given["ranks"], given["copies"]) == (4, 8, 2)


def test_latent_cache_is_on_every_rank() -> None:
    finding = found(start(SEED), "mla_replicated")
    assert finding is not None
    assert finding.numbers["total"] == pytest.approx(8 * 10.42)
    assert "mla_replicated" not in codes(start(fixture("0.5.1__qwen3moe235-tp4dp2")))


def test_cache_smaller_than_a_full_request() -> None:
    finding = found(start(SEED), "pool_below_context")
    assert finding is not None
    assert (finding.severity, finding.numbers["length"]) == ("notice", 262144)
    asked = SEED.read_text().replace("context_length=None", "context_length=262144")
    assert codes(start(asked))["pool_below_context"] == "warning"


def test_tokens_bind() -> None:
    finding = found(start(SEED), "tokens_bind")
    assert finding is not None
    assert finding.numbers["each"] == 159277 // 48


def test_requests_bind() -> None:
    """48 requests of 2,048 tokens use 98,304 of 159,277 tokens."""
    case = start(SEED.read_text().replace("context_len=262144", "context_len=2048"))
    finding = found(case, "requests_bind")
    assert finding is not None
    assert finding.numbers["unused"] == 159277 - 48 * 2048
    assert "tokens_bind" not in codes(case)


def test_fraction_chosen_by_sglang() -> None:
    """0.5.7 on an H200 (139.8 GiB): 512 + 1.5 x 8192 + 2 x 256 + 1024 / 8 MiB of floor(139.8 x 1024)."""
    given = numbers("0.5.7__llama8b-default", "fraction_automatic", gpu_memory_gib=139.8)
    kept = 512 + 1.5 * 8192 + 2 * 256 + 128
    assert given["value"] == round((int(139.8 * 1024) - kept) / int(139.8 * 1024), 3)
    assert given["reserved"] == pytest.approx(kept / 1024)


def test_a_fraction_of_two_decimals_is_taken_for_the_user_s() -> None:
    assert "fraction_automatic" not in codes(start(SEED))


def test_fraction_inferred() -> None:
    """The pools leave 1 - (21.71 - 10.42) / 94.04."""
    text = "".join(line for line in SEED.read_text().splitlines(keepends=True) if "server_args=" not in line)
    finding = found(start(text), "fraction_inferred")
    assert finding is not None
    assert finding.numbers["value"] == pytest.approx(1 - (21.71 - 10.42) / 94.04)


def test_much_less_free_than_the_card_has() -> None:
    finding = found(start(SEED, gpu_memory_gib=140.0), "occupied_before")
    assert finding is not None
    assert finding.numbers["missing"] == pytest.approx(140.0 - 94.04)
    assert "occupied_before" not in codes(start(SEED, gpu_memory_gib=95.6))


def test_weights_larger_than_the_name_says() -> None:
    """8 billion parameters at 8 bits are 7.45 GiB; 15.1 were loaded."""
    text = fixture("0.5.7__llama8b-default").read_text().replace("/models/llama31-8b'", "/models/llama31-8b-fp8'")
    finding = words(start(text), "weights_over_quantization")
    assert f"{8e9 / 2**30:.2f} GiB were to be expected" in finding.title
    assert "rule of thumb" in finding.detail
    assert "weights_over_quantization" not in codes(start(fixture("0.5.7__llama8b-default")))


def test_graphs_ate_the_headroom() -> None:
    """9.50 GiB of graphs leave 0.16 of what 11.17 + … had: a warning with fewer batches."""
    text = cut_after(SEED, "TP0] Capture cuda graph begin")
    end = "Capture cuda graph end. Time elapsed: 0.00 s. mem usage=10.50 GB. avail mem=0.67 GB."
    ready = (
        "max_total_num_tokens=159277, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, "
        "context_len=262144, available_gpu_mem=0.67 GB"
    )
    case = start(f"{text}[2026-11-29 13:35:11 TP0] {end}\n[2026-11-29 13:35:12 TP0] {ready}\n")
    finding = found(case, "graphs_ate_headroom")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.numbers["share"] == pytest.approx(10.50 / 11.17 * 100, abs=0.1)
    assert codes(case)["little_left"] == "warning"


def test_little_left_by_the_release_s_own_rule() -> None:
    """512 MiB + 1.5 MiB x 8192 = 12.5 GiB for activations; 7.43 are left: a notice."""
    finding = found(start(SEED), "little_left")
    assert finding is not None
    assert finding.severity == "notice"
    assert finding.numbers["rule"] == pytest.approx((512 + 1.5 * 8192) / 1024)


def test_negative_readings() -> None:
    text = SEED.read_text().replace("available_gpu_mem=7.43 GB", "available_gpu_mem=-1.25 GB")
    finding = found(start(text), "negative_readings")
    assert finding is not None
    assert finding.numbers["lowest"] == -1.25


def test_host_cache_over_all_ranks() -> None:
    line = "[2026-11-29 13:35:12 TP{}] Allocating 131.07 GB host memory for hierarchical KV cache.\n"
    case = start(SEED.read_text() + "".join(line.format(rank) for rank in range(8)))
    finding = found(case, "host_cache")
    assert finding is not None
    assert finding.numbers["total"] == pytest.approx(8 * 131.07)
    assert finding.numbers["each_gib"] == pytest.approx(131.07e9 / 2**30)


def test_virtual_pool() -> None:
    lines = fixture("0.5.7__llama8b-default").read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if "KV Cache is allocated" in line)
    prefix = lines[at].split("]")[0] + "] "
    virtual = f"{prefix}VirtualKV Cache is allocated. #tokens: 2777543, K size: 95.84 GB, V size: 95.84 GB\n"
    finding = found(start("".join([*lines[:at], virtual, *lines[at:]])), "virtual_pool")
    assert finding is not None
    assert finding.numbers["virtual"] == pytest.approx(2 * 95.84)


def test_post_capture_resize() -> None:
    lines = fixture("0.5.17__llama8b-default").read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if "max_total_num_tokens=" in line)
    prefix = lines[at].split("]")[0] + "] "
    resized = (
        f"{prefix}Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 434132, KV size: 53.00 "
        "GB, avail mem=2.10 GB\n"
    )
    finding = found(start("".join([*lines[:at], resized, *lines[at:]])), "post_capture_resize")
    assert finding is not None
    assert finding.numbers["tokens"] == 434132


def test_config_of_another_model() -> None:
    case = start(fixture("0.5.7__llama8b-default"), model_config=MODELS / "qwen25-7b.json")
    assert codes(case)["config_mismatch"] == "warning"
    right = start(fixture("0.5.7__llama8b-default"), model_config=MODELS / "llama31-8b.json")
    assert "config_mismatch" not in codes(right)


def test_requests_reduced() -> None:
    lines = fixture("0.5.20__llama8b-mreq-ctx").read_text().splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if "max_total_num_tokens=" in line)
    prefix = lines[at].split("]")[0] + "] "
    reduced = (
        f"{prefix}max_running_requests was reduced from the requested 256 to 120 (per dp worker) due to the available "
        "KV cache capacity.\n"
    )
    finding = found(start("".join([*lines[:at], reduced, *lines[at:]])), "requests_reduced")
    assert finding is not None
    assert (finding.numbers["asked"], finding.numbers["given"]) == (256, 120)


@pytest.mark.parametrize("name", ["0.5.7__llama8b-default", "0.5.15__llama8b-default", "0.5.23__llama8b-default"])
def test_a_healthy_start_is_calm(name: str) -> None:
    fired = codes(start(fixture(name).read_text() + READY))
    assert set(fired.values()) <= {"info"}
    assert len(fired) <= 5


def test_the_seed_case_has_no_warning() -> None:
    assert set(codes(start(SEED)).values()) <= {"info", "notice"}
