"""One log, several starts: where each begins, how it ended, and which worker printed what."""

from __future__ import annotations

import pytest

from logaudit.frame import rank_rows
from tests.launches.build import READY, dump, launches_of, start


def test_a_dump_begins_a_launch_and_ready_ends_it() -> None:
    (launch,) = launches_of([dump(model_path="m", tp_size=1), *start(), READY])
    assert (launch.outcome, launch.failure) == ("ready", None)
    (rank,) = launch.ranks
    target = rank.workers[0]
    assert target.before_load is not None
    assert target.before_load.gib.value == 78.0
    assert target.pools[0].tokens == 400000
    assert launch.schedulers[0].max_running_requests == 2048


def test_without_the_ready_line_a_start_is_initialised() -> None:
    (launch,) = launches_of([dump(model_path="m"), *start()])
    assert launch.outcome == "initialised"


def test_a_log_that_stops_early_is_incomplete() -> None:
    (launch,) = launches_of([dump(model_path="m"), *start()[:4]])
    assert launch.outcome == "incomplete"


def test_restarts_in_one_file_are_launches_of_their_own() -> None:
    one = [dump(model_path="a"), *start(), READY]
    two = [dump(model_path="b"), *start(tokens=300000), READY]
    first, second = launches_of([*one, *two])
    assert (first.index, second.index) == (0, 1)
    assert second.args["model_path"] == "b"
    assert second.first_line == len(one) + 1
    assert second.schedulers[0].max_total_num_tokens == 300000


def test_a_restart_without_a_dump_is_seen_by_the_memory_that_came_back() -> None:
    lines = start()[:7] + start()
    first, second = launches_of(lines)
    assert first.outcome == "incomplete"
    assert second.outcome == "initialised"


def test_a_draft_that_loads_after_the_target_is_no_restart() -> None:
    head = "[2026-01-01 00:00:02]"
    draft = [
        f"{head} Load weight begin. avail mem=12.40 GB",
        f"{head} Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=11.60 GB, mem usage=0.80 GB.",
        f"{head} KV Cache is allocated. #tokens: 400000, K size: 0.76 GB, V size: 0.76 GB",
        f"{head} Memory pool end. avail mem=10.00 GB",
        f"{head} Capture draft cuda graph begin. This can take up to several minutes. avail mem=9.80 GB",
        f"{head} Capture draft cuda graph end. Time elapsed: 1.00 s. mem usage=0.20 GB. avail mem=9.60 GB.",
    ]
    (launch,) = launches_of([dump(model_path="m"), *start()[:7], *draft])
    target, found = launch.ranks[0].workers
    assert (target.worker, found.worker, found.draft_index) == ("target", "draft", 0)
    assert found.model_type == "LlamaForCausalLMEagle3"
    assert found.pools[0].k_gib is not None
    assert found.pools[0].k_gib.value == 0.76
    assert [graph.name for graph in target.graphs] == ["cuda graph"]
    assert [graph.name for graph in found.graphs] == ["draft cuda graph"]


def test_a_draft_that_loads_before_the_pools_keeps_its_own_pool() -> None:
    head = "[2026-01-01 00:00:02]"
    lines = [
        f"{head} Load weight begin. avail mem=78.00 GB",
        f"{head} Load weight end. elapsed=1.00 s, type=LlamaForCausalLM, avail mem=63.00 GB, mem usage=15.00 GB.",
        f"{head} Load weight begin. avail mem=63.00 GB",
        f"{head} Load weight end. elapsed=1.00 s, type=LlamaForCausalLMEagle, avail mem=62.00 GB, mem usage=1.00 GB.",
        f"{head} KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1000, K size: 20.00 GB, V size: 20.00 GB",
        f"{head} Memory pool end. avail mem=21.90 GB",
        f"{head} KV Cache is allocated. dtype: torch.bfloat16, #tokens: 1000, K size: 0.60 GB, V size: 0.60 GB",
        f"{head} Memory pool end. avail mem=20.60 GB",
    ]
    (launch,) = launches_of(lines)
    target, draft = launch.ranks[0].workers
    assert target.pools[0].gib is not None
    assert draft.pools[0].gib is not None
    assert (target.pools[0].gib.value, draft.pools[0].gib.value) == (40.0, 1.2)
    assert draft.weights is not None
    assert draft.weights.gib.value == 1.0


def test_unlabelled_window_pools_are_named_by_their_tokens_in_either_order() -> None:
    head = "[2026-01-01 00:00:02]"
    sizes = f"{head} Use sliding window memory pool. full_layer_tokens=1000, swa_layer_tokens=800"
    full = f"{head} KV Cache is allocated. #tokens: 1000, K size: 5.00 GB, V size: 5.00 GB"
    swa = f"{head} KV Cache is allocated. #tokens: 800, K size: 4.00 GB, V size: 4.00 GB"
    for pair in ((swa, full), (full, swa)):
        (launch,) = launches_of([f"{head} Load weight begin. avail mem=78.00 GB", sizes, *pair])
        pools = {pool.name: pool.tokens for pool in launch.ranks[0].workers[0].pools}
        assert pools == {"full": 1000, "swa": 800}


def test_a_refused_start_is_a_memory_failure_while_sizing() -> None:
    lines = [
        dump(model_path="m"),
        *start()[:3],
        "[2026-01-01 00:00:03] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "scheduler.py", line 1, in run',
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ]
    (launch,) = launches_of(lines)
    assert launch.outcome == "crashed"
    assert launch.failure is not None
    assert (launch.failure.kind, launch.failure.phase, launch.failure.line) == ("memory", "sizing", 7)


def test_a_port_in_use_is_not_memory() -> None:
    lines = [dump(model_path="m"), "OSError: [Errno 98] Address already in use"]
    (launch,) = launches_of(lines)
    assert launch.failure is not None
    assert launch.failure.kind == "not_memory"


def test_running_out_of_device_memory_while_capturing() -> None:
    lines = [
        dump(model_path="m"),
        *start()[:6],
        "[2026-01-01 00:00:03] Scheduler hit an exception: Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
        "of which 512.00 MiB is free.",
    ]
    (launch,) = launches_of(lines)
    assert launch.failure is not None
    assert (launch.failure.kind, launch.failure.phase) == ("memory", "capture")


def test_a_server_that_dies_while_serving_is_crashed() -> None:
    lines = [
        dump(model_path="m"),
        *start(),
        READY,
        "[2026-01-01 01:00:00] Scheduler hit an exception: Traceback (most recent call last):",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB "
        "of which 512.00 MiB is free.",
        "[2026-01-01 01:00:01] Received sigquit from a child process. It usually means the child failed.",
    ]
    (launch,) = launches_of(lines)
    assert launch.outcome == "crashed"
    assert launch.failure is not None
    assert (launch.failure.kind, launch.failure.phase) == ("memory", "serving")


def test_a_failed_request_does_not_crash_a_serving_server() -> None:
    lines = [dump(model_path="m"), *start(), READY, "Traceback (most recent call last):", "ValueError: bad request"]
    (launch,) = launches_of(lines)
    assert launch.outcome == "ready"


def test_two_servers_that_share_a_file_are_taken_apart() -> None:
    one = [dump(model_path="a", port=1), *start(), READY]
    two = [dump(model_path="b", port=2), *start(before="40.00", after="25.00", tokens=90000), READY]
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    first, second = launches_of(mixed)
    assert first.args["model_path"] == "a"
    assert [s.max_total_num_tokens for s in first.schedulers] == [400000]
    assert [s.max_total_num_tokens for s in second.schedulers] == [90000]
    for launch, before in ((first, 78.0), (second, 40.0)):
        reading = launch.ranks[0].workers[0].before_load
        assert reading is not None
        assert reading.gib.value == before


def test_nodes_of_one_server_are_joined() -> None:
    def node(rank: int) -> list[str]:
        shared = {"model_path": "m", "tp_size": 2, "nnodes": 2, "dist_init_addr": "10.0.0.1:5000"}
        return [dump(**shared, node_rank=rank), *start(f" TP{rank}")]

    (launch,) = launches_of([*node(0), *node(1), READY])
    assert [rank.key.tp for rank in launch.ranks] == [0, 1]
    assert launch.outcome == "ready"


def test_lines_without_a_rank_of_several_processes_are_told_apart_by_order() -> None:
    head = "[2026-01-01 00:00:02]"
    lines = [
        dump(model_path="m", tp_size=2),
        f"{head} Load weight begin. avail mem=78.00 GB",
        f"{head} Load weight begin. avail mem=77.00 GB",
        f"{head} Load weight end. type=A, dtype=torch.bfloat16, avail mem=63.00 GB, mem usage=15.00 GB.",
        f"{head} Load weight end. type=A, dtype=torch.bfloat16, avail mem=62.00 GB, mem usage=15.00 GB.",
    ]
    (launch,) = launches_of(lines)
    befores = [rank.workers[0].before_load.gib.value for rank in launch.ranks if rank.workers[0].before_load]
    assert sorted(befores) == [77.0, 78.0]
    assert launch.notes


def test_lines_out_of_time_order_are_put_in_order() -> None:
    lines = start()
    stamped = [line.replace("00:00:01", f"00:00:{second:02d}") for second, line in enumerate(lines, 1)]
    (ordered,) = launches_of(stamped)
    (shuffled,) = launches_of([stamped[i] for i in (3, 1, 0, 2, 5, 4, 7, 6)])
    workers = [launch.ranks[0].workers[0] for launch in (ordered, shuffled)]
    assert len({worker.before_load.gib if worker.before_load else None for worker in workers}) == 1
    assert len({worker.pool_end.gib if worker.pool_end else None for worker in workers}) == 1
    assert shuffled.outcome == "initialised"


def test_a_launch_command_stands_in_for_an_absent_dump() -> None:
    command = "$ python -m sglang.launch_server --model-path m --tp 2 --mem-fraction-static=0.8"
    (launch,) = launches_of([command, *start(" TP0")])
    assert launch.args_origin == "command_line"
    assert (launch.args["tp_size"], launch.args["mem_fraction_static"]) == (2, 0.8)
    assert launch.args_line == 1


def test_a_shortened_paste_stands_in_for_an_absent_dump() -> None:
    (launch,) = launches_of(["model_path='m', tp_size=1, mem_fraction_static=0.85, ...", *start()])
    assert launch.args_origin == "short"
    assert launch.args["mem_fraction_static"] == 0.85


def test_the_dump_wins_over_a_launch_command() -> None:
    command = "sglang serve --model-path m --mem-fraction-static 0.5"
    (launch,) = launches_of([command, dump(model_path="m", mem_fraction_static=0.9), *start()])
    assert (launch.args_origin, launch.args["mem_fraction_static"]) == ("dump", 0.9)


def test_a_log_that_starts_at_the_draft_does_not_take_it_for_the_target() -> None:
    head = "[2026-01-01 00:00:02]"
    (launch,) = launches_of(
        [
            f"{head} Load weight begin. avail mem=12.40 GB",
            f"{head} Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=11.60 GB, "
            "mem usage=0.80 GB.",
            f"{head} KV Cache is allocated. #tokens: 400000, K size: 0.76 GB, V size: 0.76 GB",
            f"{head} Memory pool end. avail mem=10.00 GB",
        ]
    )
    target, draft = launch.ranks[0].workers
    assert (target.before_load, target.pools) == (None, ())
    assert draft.model_type == "LlamaForCausalLMEagle3"
    assert draft.pools[0].tokens == 400000


def test_the_free_memory_before_loading_follows_from_the_line_after_it() -> None:
    (launch,) = launches_of(start()[2:])
    (worker,) = launch.ranks[0].workers
    assert worker.before_load is not None
    assert worker.before_load.line == 1
    assert worker.before_load.gib.value == pytest.approx(63.00 + 15.00)
    assert worker.before_load.gib.width == pytest.approx(0.02)  # two figures rounded to 0.01


def test_a_refusal_belongs_to_sizing_though_the_target_was_captured_already() -> None:
    lines = [
        *start()[:-1],
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: 0.82",
    ]
    (launch,) = launches_of(lines)
    assert launch.failure is not None
    assert (launch.failure.kind, launch.failure.phase) == ("memory", "sizing")


def window_pools(*pools: str, full: int = 500000, swa: int = 400000) -> list[str]:
    head = "[2026-01-01 00:00:03 TP0]"
    return [
        f"{head} Use sliding window memory pool. full_layer_tokens={full}, swa_layer_tokens={swa}",
        *(f"{head} {pool}" for pool in pools),
        f"{head} SWAKVPool mem usage: 21.00 GB, swa size: {swa}, full size: {full}",
    ]


@pytest.mark.parametrize(("tokens", "name"), [(500000, "full"), (400000, "swa")])
def test_a_window_pool_whose_partner_is_missing_is_named_by_its_tokens(tokens: int, name: str) -> None:
    (launch,) = launches_of(window_pools(f"KV Cache is allocated. #tokens: {tokens}, K size: 4.00 GB, V size: 4.00 GB"))
    (worker,) = launch.ranks[0].workers
    assert [pool.name for pool in worker.pools] == [name]
    (row,) = rank_rows([launch])
    # The scheduler counts the full layers' tokens; of the pair only the sum is whole.
    assert (row["kv_tokens"], row["kv_gib"], row["k_gib"]) == (500000, 21.0, None)


def test_window_pools_without_their_own_lines_have_the_size_of_their_sum() -> None:
    (launch,) = launches_of(window_pools())
    (row,) = rank_rows([launch])
    assert (row["kv_tokens"], row["kv_gib"], row["full_tokens"], row["swa_tokens"]) == (500000, 21.0, 500000, 400000)


def test_the_pools_of_an_early_deepseek_v4_build_stand_in_two_lines() -> None:
    head = "[2026-01-01 00:00:03 TP0]"
    (launch,) = launches_of(
        [
            f"{head} DSv4 memory calculation: bytes_per_full_token=8000.00, available_bytes=2.00 GB, full_token=268288",
            f"{head} Initialize DeepSeekV4TokenToKVPool with max_num_reqs=128 swa_size=211712 c4_size=67072 "
            "c128_size=2096 c4_state_pool_size=26464 c128_state_pool_size=423424",
        ]
    )
    (worker,) = launch.ranks[0].workers
    assert {pool.name: pool.tokens for pool in worker.pools} == {
        "full": 268288,
        "swa": 211712,
        "c4": 67072,
        "c128": 2096,
    }


def traceback(
    *frames: str, error: str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
) -> list[str]:
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        lines += [f'  File "/srv/sglang/python/sglang/srt/model_executor/model_runner.py", line 300, in {frame}']
    return [*lines, "    return torch.empty(*args, **kwargs)", error]


@pytest.mark.parametrize(
    ("frames", "phase"),
    [
        (("run_scheduler_process", "__init__", "load_model", "get_model"), "load"),
        (("run_scheduler_process", "initialize", "init_memory_pool", "__init__", "_create_buffers"), "sizing"),
        (("run_scheduler_process", "init_all_cuda_graphs", "capture"), "capture"),
        (("run_scheduler_process", "event_loop_overlap", "run_batch", "forward"), "serving"),
    ],
)
def test_where_only_the_traceback_was_pasted_it_tells_the_phase(frames: tuple[str, ...], phase: str) -> None:
    (launch,) = launches_of(traceback(*frames))
    assert launch.failure is not None
    assert (launch.failure.kind, launch.failure.phase) == ("memory", phase)


def test_the_calls_of_a_traceback_tell_the_phase_where_its_last_frames_were_cut() -> None:
    lines = traceback("initialize")
    lines[2:3] = ["    self.init_memory_pool("]
    (launch,) = launches_of(lines)
    assert launch.failure is not None
    assert launch.failure.phase == "sizing"


def test_a_step_of_a_traceback_alone_is_no_start() -> None:
    assert launches_of(["    self.init_cuda_graphs()"]) == ()


def test_arguments_with_dots_for_those_left_out_are_read() -> None:
    lines = ["server_args ... served_model_name='m ... x' ... tp_size=4 ... mem_fraction_static=0.8", *start()[1:]]
    (launch,) = launches_of(lines)
    assert dict(launch.args) == {"served_model_name": "m ... x", "tp_size": 4, "mem_fraction_static": 0.8}
    assert launch.args_origin == "short"


def test_a_launch_command_completes_a_dump_of_which_one_field_is_left() -> None:
    lines = [
        "$ python -m sglang.launch_server --model-path /models/other --tp 4 --mem-fraction-static 0.8",
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/models/m', ...)",
        *start(),
    ]
    (launch,) = launches_of(lines)
    assert (launch.args["model_path"], launch.args["tp_size"]) == ("/models/m", 4)
    assert launch.args["mem_fraction_static"] == 0.8
