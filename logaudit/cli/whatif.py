"""`logaudit whatif`: the same start under other arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from logaudit.errors import LogauditError

if TYPE_CHECKING:
    from logaudit.reconcile.case import Case


def whatif(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOG...", help="Paths, folders, globs, - for standard input.", show_default=False),
    ],
    mem_fraction_static: Annotated[float | None, typer.Option(metavar="X", min=0.01, max=1.0)] = None,
    kv_cache_dtype: Annotated[str | None, typer.Option(metavar="TYPE", help="auto, bfloat16, fp8_e4m3, …")] = None,
    max_total_tokens: Annotated[int | None, typer.Option(metavar="N", min=1)] = None,
    page_size: Annotated[int | None, typer.Option(metavar="N", min=1)] = None,
    context_length: Annotated[int | None, typer.Option(metavar="N", min=1)] = None,
    max_running_requests: Annotated[int | None, typer.Option(metavar="N", min=1)] = None,
    swa_full_tokens_ratio: Annotated[float | None, typer.Option(metavar="X", min=0.0)] = None,
    mamba_full_memory_ratio: Annotated[float | None, typer.Option(metavar="X", min=0.0)] = None,
    tp: Annotated[int | None, typer.Option("--tp", "--tp-size", metavar="N", min=1)] = None,
    dp: Annotated[int | None, typer.Option("--dp", "--dp-size", metavar="N", min=1)] = None,
    enable_dp_attention: Annotated[bool, typer.Option("--enable-dp-attention")] = False,
    release: Annotated[str | None, typer.Option(metavar="V", help="Another SGLang release, 0.5.14.")] = None,
    tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Solve for the fraction that holds N tokens.")
    ] = None,
    model_config: Annotated[
        str | None, typer.Option(metavar="PATH", help="The model's config.json: exact bytes per token.")
    ] = None,
    draft_model_config: Annotated[str | None, typer.Option(metavar="PATH", help="The same of the draft model.")] = None,
    gpu_memory: Annotated[float | None, typer.Option(metavar="GIB", min=0.0, help="Memory of one card.")] = None,
    launch: Annotated[int, typer.Option(metavar="N", help="Which start, counted from 0; -1 is the last.")] = -1,
    answer_format: Annotated[Literal["text", "json"], typer.Option("--format")] = "text",
) -> int:
    """Tokens, requests and headroom of the same start under other arguments, beside today's."""
    import msgspec

    from logaudit.cli.output import write_standard_output
    from logaudit.reconcile.whatif import what_if
    from logaudit.report.whatif import whatif_document, whatif_text

    changes: dict[str, Any] = {
        "mem_fraction_static": mem_fraction_static,
        "kv_cache_dtype": kv_cache_dtype,
        "max_total_tokens": max_total_tokens,
        "page_size": page_size,
        "context_length": context_length,
        "max_running_requests": max_running_requests,
        "swa_full_tokens_ratio": swa_full_tokens_ratio,
        "mamba_full_memory_ratio": mamba_full_memory_ratio,
        "tp_size": tp,
        "dp_size": dp,
        "enable_dp_attention": enable_dp_attention or None,
    }
    wanted = {name: value for name, value in changes.items() if value is not None}
    if not wanted and release is None and tokens is None:
        raise LogauditError("nothing to change", do="give an option such as --mem-fraction-static 0.9 or --tokens N")
    if tokens is not None and mem_fraction_static is not None:
        raise LogauditError("--tokens solves for --mem-fraction-static", do="give one of them")
    case = _case(logs, launch, model_config, draft_model_config, gpu_memory)
    answer = what_if(case, wanted, release=_version(release), tokens=tokens)
    if answer_format == "json":
        encoded = msgspec.json.encode(whatif_document(case, answer))
        write_standard_output(msgspec.json.format(encoded, indent=2).decode() + "\n")
    else:
        write_standard_output(whatif_text(answer))
    return 0


def _version(text: str | None) -> Any:
    from packaging.version import InvalidVersion, Version

    try:
        return None if text is None else Version(text)
    except InvalidVersion:
        raise LogauditError(f"{text!r} is no release", where="--release", do="give one such as 0.5.14") from None


def _case(
    logs: list[str], launch: int, model_config: str | None, draft_config: str | None, gpu_memory: float | None
) -> Case:
    """The start that is asked for. Raises LogauditError when the log holds none such."""
    from logaudit.auditing import cases_of, given_of, launches_of, read_source
    from logaudit.sources import open_sources

    given = given_of(model_config=model_config, draft_model_config=draft_config, gpu_memory_gib=gpu_memory)
    cases = cases_of(launches_of([read_source(source) for source in open_sources(logs)]), given)
    if not cases:
        raise LogauditError("no start of a server in it", where=", ".join(logs), do="give the startup part of the log")
    chosen = [case for case in cases if case.launch.index == launch] or (list(cases[launch:][:1]) if launch < 0 else [])
    if not chosen:
        known = ", ".join(str(case.launch.index) for case in cases)
        raise LogauditError(f"there is no start {launch}", do=f"starts in this log: {known}")
    return chosen[0]
