"""Secrets of every kind are taken out of texts, arguments and documents, and nothing else is."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import msgspec
import pytest

from logaudit.report.document import (
    Capacity,
    Document,
    LaunchDoc,
    LineSpan,
    ModelInfo,
    Parallelism,
    Quote,
    Reconciliation,
    SourceInfo,
    Unrecognised,
    VersionBracket,
)
from logaudit.report.redact import UNCHECKED, Redactor
from logaudit.report.secret_names import strength
from tests.conftest import shared_files

PLANTED = {
    "dump": "server_args=ServerArgs(model_path='/m', api_key='CANARY-a', admin_api_key=\"CANARY'b\", tp_size=8)",
    "dump dict": "server_args={'api_key': 'CANARY', 'watermark_key': 77CANARY, 'kv_cache_dtype': 'auto'}",
    "password argument": "ssl_keyfile_password='CANARY with spaces', port=1",
    "storage credentials": """hicache_storage_backend_extra_config='{"access_key": "CANARY", "size": 5}', x=1""",
    "nested, escaped": r'hicache_storage_backend_extra_config="{\"secret\": \"CANARY\"}"',
    "option, space": "python -m sglang.launch_server --api-key CANARY --tp 8",
    "option, equals": "python -m sglang.launch_server --api-key=CANARY --tp 8",
    "option, quoted": "--ssl-keyfile-password 'CANARY CANARY' --tp 8",
    "option, shortened": "--api-k CANARY --tp 8",
    "option, underscores": "--admin_api_key CANARY",
    "option, list": "['--model-path', '/m', '--api-key', 'CANARY', '--tp', '8']",
    "option, continued": "--api-key \\\n   CANARY \\\n   --tp 8",
    "option, YAML": '  - --api-key\n  - "CANARY"\n  - --tp',
    "option, JSON value": """--model-loader-extra-config '{"s3_secret_key": "CANARY"}'""",
    "environment": "HF_TOKEN=CANARY OPENAI_API_KEY='CANARY' AWS_SECRET_ACCESS_KEY=CANARY/x+y= python",
    "environment, docker": "docker run -e API_KEY=CANARY -e 'DB_PASSWORD=CANARY' image",
    "environment, Kubernetes": "- name: WANDB_API_KEY\n  value: CANARY",
    "environment, Kubernetes JSON": '{"name":"FOO_TOKEN","value":"CANARY"}',
    "URL login": "GET https://user:CANARY@example.com:8080/x",
    "URL login with @": "postgres://u:CANARY@CANARY@db/x",
    "URL token": "https://example.com/x?token=CANARY&b=1",
    "URL signature": "https://b.s3.amazonaws.com/k?X-Amz-Credential=CANARY&X-Amz-Signature=CANARY",
    "URL, encoded": "next=%2Fx%3Fapi_key%3DCANARY",
    "bearer": "Authorization: Bearer CANARY.CANARY",
    "bearer in code": "headers={'Authorization': f'Bearer {CANARY}'}",
    "basic": "proxy-authorization: Basic CANARY==",
    "header": "-H 'X-API-Key: CANARY'",
    "gitlab header": "PRIVATE-TOKEN: CANARY",
    "cookie": "Cookie: session=CANARY; other=CANARY",
    "curl login": "curl -s -u admin:CANARY https://x",
    "netrc": "machine example.com login me password CANARY",
    "Hugging Face": "loading with hf_CANARYabcdefghijklmnopqrstu12",
    "OpenAI": "key sk-proj-CANARYabcdefghijklmn_opq",
    "GitHub": "ghp_CANARYabcdefghijklmnopqrstuvwxyz12 github_pat_CANARY1234567890_abcdefghijklmn",
    "GitLab": "glpat-CANARYabcdefghij",
    "AWS": "AKIACANARY0123456789 wJalrXUtnFEMI/K7MDENG/bPxRfiCYCANARYKEY1",
    "Google": "AIzaCANARYabcdefghijklmnopqrstuvwxyz012345",
    "Slack": "xoxb-CANARY-1234567890-abc",
    "web token": "eyJCANARYabc.eyJCANARYdef.CANARY_sig",
    "after an escape": r"first\nhf_CANARYabcdefghijklmnopqrstu12",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n" + "CANARY+/" * 8 + "\nCANARY==\n-----END RSA PRIVATE KEY-----",
    "private key, escaped": r"'-----BEGIN PRIVATE KEY-----\nCANARYCANARYCANARYCANARY\nCANARY=\n-----END PRIVATE KEY-----\n'",
    "private key, cut": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "CANARY12" * 8 + "\n" + "CANARY12" * 8,
    "container log": '{"log":"ServerArgs(api_key=\\"CANARY\\", tp=1)\\n","stream":"stderr"}',
    "YAML": "password: CANARY",
    "list": "api_keys=['CANARY','CANARY']",
    "cut dump": "server_args=ServerArgs(model_path='/m', api_key='CANARY",
}

INNOCENT = [
    "[2026-11-29 13:37:37 TP0] Prefill batch. #new-seq: 1, #new-token: 64, #cached-token: 0, token usage: 0.00",
    "max_total_num_tokens=1083506, chunked_prefill_size=8192, max_prefill_tokens=16384, context_len=131072",
    "api_key=None, admin_api_key=None, ssl_keyfile_password=None, speculative_token_map='/m/map.pt'",
    "bos_token='<s>', eos_token: '</s>', num_key_value_heads=8, kv_cache_dtype='fp8_e4m3'",
    "KeyError: 'model.layers.0.self_attn.k_proj.weight'",
    "Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
    "export HF_TOKEN=$HF_TOKEN; --api-key ${API_KEY} --watermark-key <redacted>",
    "see http://host:8080/a@b and git+ssh://git@example.com/x.git, disk-based-cache-of-something",
    "Basic authentication and bearer token authentication are supported",
    "secretKeyRef: {name: hf}, password_file: /run/secrets/p",
]


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_secret_is_gone(text: str) -> None:
    redactor = Redactor()
    assert "CANARY" not in redactor.text(text)
    assert sum(redactor.counts.values()) >= 1


@pytest.mark.parametrize("text", PLANTED.values(), ids=PLANTED.keys())
def test_redacting_again_changes_nothing(text: str) -> None:
    once = Redactor().text(text)
    again = Redactor()
    assert again.text(once) == once


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.counts == {}


def test_only_the_value_is_replaced() -> None:
    assert (
        Redactor().text("launch_server --api-key sesame-1 --tp 8, api_key='other-2', tp_size=8")
        == "launch_server --api-key REDACTED --tp 8, api_key='REDACTED', tp_size=8"
    )


def test_counts_name_the_kind() -> None:
    redactor = Redactor()
    redactor.text("hf_abcdefghijklmnopqrstuvwx and --api-key sesame-1 and password=pw and https://a:longpassword@b/")
    assert redactor.counts == {"Hugging Face token": 1, "api key": 1, "credentials in a URL": 1, "password": 1}


@pytest.mark.parametrize("name", ["EMPTY", "None", "1234", "sglang"])
def test_a_common_value_is_replaced_only_where_it_is_the_secret(name: str) -> None:
    clean = Redactor().text(f"api_key='{name}', model_path='/m/{name}', other={name}")
    assert clean.endswith(f"model_path='/m/{name}', other={name}")


def test_a_secret_learnt_once_is_replaced_everywhere() -> None:
    secret = 'sun/flower "7"'
    redactor = Redactor()
    redactor.args({"api_key": secret})
    spellings = [
        secret,
        "sun%2Fflower%20%227%22",
        "sun%2fflower+%227%22".replace("+", "%20"),
        "sun%2Fflower+%227%22",
        r"sun/flower \"7\"",
        "sun/flower &quot;7&quot;",
        base64.b64encode(secret.encode()).decode(),
    ]
    for spelling in spellings:
        assert redactor.text(f"GET /v1/models?x={spelling}!") in {"GET /v1/models?x=REDACTED!"}


@pytest.mark.parametrize(
    "gives_away",
    [
        "git clone https://anna:sunflower-77@git.example/x",
        "redis://:sunflower-77@cache:6379/0",
        "GET /v1/models?access_token=sunflower-77&page=2",
        "curl -u anna:sunflower-77 http://127.0.0.1:30000/health",
        "sshpass -p sunflower-77 ssh gpu7",
    ],
)
def test_a_password_is_learnt_wherever_it_is_given_away(gives_away: str) -> None:
    redactor = Redactor()
    assert "sunflower" not in redactor.text(gives_away)
    assert redactor.text("login with sunflower-77 failed") == "login with REDACTED failed"
    assert redactor.text("anna on cache") == "anna on cache"


def test_a_learnt_ordinary_word_is_not_cut_out_of_other_words() -> None:
    redactor = Redactor()
    redactor.args({"api_key": "sunflower"})
    assert redactor.text("sunflower, sunflowers") == "REDACTED, sunflowers"


def test_arguments() -> None:
    clean = Redactor().args(
        {
            "api_key": "a-secret-1",
            "admin_api_key": None,
            "watermark_key": 123456789,
            "ssl_keyfile_password": "",
            "tokenizer_path": "/m",
            "max_total_tokens": 5,
            "kv_cache_dtype": "auto",
            "hicache_storage_backend_extra_config": '{"access_key": "x1", "nested": {"token": "y"}}',
            "modelexpress_config": {"url": "http://h", "some_key": "z", "token_count": 7, "keys": ["k1", "k2"]},
            "lora_paths": ["a=/m?token=abc"],
        }
    )
    assert clean == {
        "api_key": "REDACTED",
        "admin_api_key": None,
        "watermark_key": "REDACTED",
        "ssl_keyfile_password": "",
        "tokenizer_path": "/m",
        "max_total_tokens": 5,
        "kv_cache_dtype": "auto",
        "hicache_storage_backend_extra_config": '{"access_key": "REDACTED", "nested": {"token": "REDACTED"}}',
        "modelexpress_config": {"url": "http://h", "some_key": "REDACTED", "token_count": 7, "keys": ["REDACTED"] * 2},
        "lora_paths": ["a=/m?token=REDACTED"],
    }


def test_of_all_arguments_only_the_secret_ones_are_withheld(shared_dir: Path) -> None:
    releases = msgspec.json.decode((shared_dir / "spec" / "server_args_fields.json").read_bytes())
    fields = {field for names in releases.values() for field in names}
    assert {field for field in fields if strength(field) in {"strong", "weak"}} == {
        "api_key",
        "admin_api_key",
        "ssl_keyfile_password",
        "watermark_key",
        "watermark_key_b",
    }


def _document(**launch: object) -> Document:
    fields: dict[str, object] = {
        "index": 0,
        "source": 0,
        "outcome": "ready",
        "failure": None,
        "lines": LineSpan(1, 9),
        "started_at": "2026-11-29T13:37:36",
        "ready_at": None,
        "sglang_version": VersionBracket("0.5.9", "0.5.9", True, []),
        "model": ModelInfo("/m", "LlamaForCausalLM", None, "mha", None),
        "parallelism": Parallelism(8, 1, 1, 1, 1, 1, False),
        "server_args": {},
        "mem_fraction_static": None,
        "ranks": [],
        "capacity": Capacity(1, None, None, None, None, None, None),
        "expected": None,
        "reconciliation": Reconciliation("not_checkable", None, None, None, None, [], []),
        "naive": [],
        "ledger": [],
        "options": [],
        "findings": [],
        "unrecognised": [],
    }
    return Document(1, "0.1.0", [SourceInfo("a.log", 1, 1, "utf-8")], [LaunchDoc(**{**fields, **launch})])  # type: ignore[arg-type]


def test_a_document_is_clean_everywhere_and_says_what_was_taken_out() -> None:
    document = _document(
        server_args={"api_key": "open-sesame", "tp_size": 8},
        quotes=[Quote(1, "api_key='open-sesame'"), Quote(2, "401 for open-sesame")],
        unrecognised=[Unrecognised(3, "hf_abcdefghijklmnopqrstuvwx")],
        adjusted_args=[{"name": "admin_api_key", "value": "second-secret", "line": 4, "text": "second-secret"}],
        verdict=["Ready"],
    )
    clean = Redactor().document(document)
    written = msgspec.json.encode(clean)
    for secret in (b"open-sesame", b"hf_abc", b"second-secret"):
        assert secret not in written
    # The argument, its two quotes, the adjusted argument, its text, and the token.
    assert clean.redacted == {"Hugging Face token": 1, "api key": 5}
    assert clean.launches[0].server_args["tp_size"] == 8
    assert clean.launches[0].verdict == ["Ready"]


def test_a_clean_document_stays_as_it_is() -> None:
    document = _document(server_args={"tp_size": 8, "api_key": None}, quotes=[Quote(1, "Load weight begin.")])
    assert Redactor().document(document) == document


def test_redacting_a_document_again_keeps_its_counts() -> None:
    once = Redactor().document(_document(server_args={"api_key": "open-sesame"}))
    assert Redactor().document(once) == once


def test_a_text_that_takes_too_long_is_withheld() -> None:
    redactor = Redactor(seconds=0.0)
    assert redactor.text("api_key='a-secret' " * 5000) == UNCHECKED
    assert redactor.counts == {"unchecked text": 1}


@pytest.mark.parametrize(
    "unit",
    [
        "key=",
        "token='",
        "://a:",
        "eyJaaaaaaa.",
        "a",
        "--api-key ",
        "bearer ",
        "\\",
        "curl -u a:",
        "key=[",
        "/a",
        "-a",
        "10.",
    ],
)
def test_time_grows_with_length_only(unit: str) -> None:
    def seconds(length: int) -> float:
        begin = time.process_time()
        Redactor(hosts=True, paths=True, seconds=60).text(unit * (length // len(unit)))
        return time.process_time() - begin

    # Sixteen times the text: a quadratic search would take 256 times as long.
    assert seconds(160_000) < 100 * max(seconds(10_000), 0.004)


class TestHosts:
    def test_the_same_value_gets_the_same_stand_in(self) -> None:
        redactor = Redactor(hosts=True)
        first = redactor.text("dist_init_addr='gpu-7.lan:5000', 10.1.2.3 a@b.com /home/alice/m")
        assert first == "dist_init_addr='host-1:5000', ip-1 mail-1 /home/user-1/m"
        assert (
            redactor.text("10.1.2.4 10.1.2.3 http://gpu-7.lan/ /scratch/alice/x")
            == "ip-2 ip-1 http://host-1/ /scratch/user-1/x"
        )
        assert redactor.counts == {"IP address": 3, "e-mail address": 1, "host name": 2, "user name": 2}

    @pytest.mark.parametrize(
        "text",
        [
            "sglang 0.5.9.1, nvidia-cudnn-cu12==9.1.0.70, driver 595.58.03",
            "host='0.0.0.0', http://127.0.0.1:30000, localhost, [::1]:8000",
            "[2026-11-29 13:37:36 DP3 TP0 EP1] Load weight begin. avail mem=138.52 GB",
            "std::vector c10::Error torch.nn.functional server_args.py:1833",
            "Host memory: 12.3 GB, user 1.2s, host memory pool",
            "/root/x ~/x",
        ],
    )
    def test_what_names_nobody_stays(self, text: str) -> None:
        assert Redactor(hosts=True).text(text) == text

    @pytest.mark.parametrize(
        ("text", "clean"),
        [
            ("[2001:db8::7]:80 2001:db8::7", "[ip-1]:80 ip-1"),
            ("Nov 29 13:37:36 gpubox sglang[12]: hello", "Nov 29 13:37:36 host-1 sglang[12]: hello"),
            ("[pod/sglang-7d9f-x2/main] hello", "[pod/host-1/main] hello"),
            ("--host gpubox8 --port 1", "--host host-1 --port 1"),
            ("ssh bob@gpubox9", "ssh user-1@host-1"),
            ("tcp://node-3:5000 and then node-3 again", "tcp://host-1:5000 and then host-1 again"),
            ("C:\\Users\\carol\\x", "C:\\Users\\user-1\\x"),
        ],
    )
    def test_where_names_stand(self, text: str, clean: str) -> None:
        assert Redactor(hosts=True).text(text) == clean

    def test_without_it_names_stay(self) -> None:
        text = "http://gpu-7.lan 10.1.2.3 a@b.com /home/alice/m"
        assert Redactor().text(text) == text


class TestPaths:
    def test_private_paths_get_stand_ins(self) -> None:
        redactor = Redactor(paths=True)
        assert redactor.text("model_path='/data/llama', x=/data/llama, y=/data/other/z") == (
            "model_path='/path-1', x=/path-1, y=/path-2"
        )

    @pytest.mark.parametrize(
        "text", ["GET /v1/models HTTP/1.1", "12 GB/s, and/or", "/dev/shm/x /usr/lib/x", "Qwen/Qwen3-8B"]
    )
    def test_public_ones_stay(self, text: str) -> None:
        assert Redactor(paths=True).text(text) == text

    def test_the_part_inside_a_package_stays(self) -> None:
        text = 'File "/opt/me/lib/python3.11/site-packages/sglang/srt/x.py", line 3'
        assert Redactor(paths=True).text(text) == 'File "/path-1/lib/python3.11/site-packages/sglang/srt/x.py", line 3'


@pytest.mark.parametrize(
    "path", [*shared_files("logs/*.log"), *shared_files("oracle/*.log")[::40]], ids=lambda p: p.name
)
def test_a_log_without_secrets_is_left_alone(path: Path) -> None:
    text = path.read_text(errors="replace")
    assert Redactor().text(text) == text
