"""Which names of arguments, keys, options and variables announce a secret."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import regex

Strength = Literal["strong", "weak", "mention", "none"]
"""`strong`: whatever stands there is a secret; `weak`: it is one where the value is a text (`key`, `token`);
`mention`: the name says key or token among other words, which counts in a dictionary only; `none`: it is not one."""

SERVER_SECRETS = ("api_key", "admin_api_key", "ssl_keyfile_password", "watermark_key", "watermark_key_b")
"""SGLang's own secret arguments, 0.1.17 to 0.5.23."""


def words(text: str) -> frozenset[str]:
    """The words of `text` as a set."""
    return frozenset(text.split())


_WORDS = regex.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STRONG_WORDS = words(
    "password passwd passphrase passcode passwort pwd pw secret secrets secretkey apikey apikeys apitoken "
    "accesskey accesstoken authkey authtoken privatekey credential credentials creds dsn cookie jwt webhook"
)
_WEAK_WORDS = words("key keys token tokens auth signature sig sas bearer pat")
_OWNERS = words(
    "api admin access secret private auth authorization encryption decryption signing master account shared "
    "watermark license session service subscription client security refresh bearer csrf xsrf hf hub huggingface "
    "hugging github gh gitlab aws gcp azure google slack openai anthropic wandb jira redmine bot deploy "
    "deployment personal storage s3 oss minio ssh gpg pgp tls ssl root user id pat oauth sas webhook vault consul "
    "etcd redis kube kubernetes"
)
"""Words that make a following `key` or `token` a secret beyond doubt."""
_TAILS = words("id data value values b64 base64 hash text string str raw plain env b a")
"""Words that may follow the secret word without changing what it is."""
_NOT_SECRET_TAILS = words(
    "file files path paths name names ref refs dir dirs mount type types length len policy count size sizes map "
    "required enabled enable disabled url uri endpoint header headers heads head dim dims dtype bits buckets "
    "histogram usage budget limit ratio rate idx index ids mode window threshold format algorithm provider "
    "manager store backend field level version loc location cls class func fn callback"
)
_TOKEN_FORERUNNERS = words(
    "bos eos pad unk sep cls mask image img video audio boi eoi boa eoa new cached cache input output draft think "
    "thinking start end stop special per next first last num max min total chat eot eom tool mtp prompt decode "
    "prefill vocab added extend running full swa spec accept accepted uncached used available free pending "
    "generated gen reserved decoded verify bonus local global batch chunk chunked fill dummy seq language text "
    "speech placeholder vision time inter heavy graph to each every one n prefix rejected content system "
    "assistant reasoning multimodal mm"
)
_KEY_FORERUNNERS = words(
    "sort cache prefix primary foreign dict hash num partition query missing unexpected config weight state param "
    "parameter lookup routing priority group groups by object radix map extra tree page block storage_page unique "
    "index public lora rope cross attn attention k no with qk"
)
_PLAIN_NAMES = frozenset({"speculative_token_map", "skip_tokenizer_init", "public_key", "ssh_public_key"})
_NUMBER = regex.compile(r"[-+]?\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?%?")
_EMPTY_VALUES = frozenset({"", "none", "null", "nil", "true", "false", "undefined", "str", "string", "...", "optional"})
_STAND_INS = regex.compile(r"(?i)[\[<({]*(?:redacted|hidden|masked|secret removed)[\])}>]*|\*{3,}|x{4,}")
_REFERENCE = regex.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\$\{\{[^}]*\}\}|\$\(.*")


@lru_cache(maxsize=4096)
def strength(name: str) -> Strength:
    """How surely `name` (`--api-key`, `HF_TOKEN`, `secretAccessKey`, `kv_cache_dtype`) announces a secret."""
    plain = name.strip("-").replace("-", "_").lower()
    if plain in SERVER_SECRETS:
        return "strong"
    if plain in _PLAIN_NAMES:
        return "none"
    parts = [word.lower() for word in _WORDS.findall(name)]
    shouted = name.upper() == name and any(c.isalpha() for c in name)
    best: Strength = "none"
    for at, word in enumerate(parts):
        tail = parts[at + 1 :]
        if any(part in _NOT_SECRET_TAILS for part in tail):
            continue
        settled = all(part in _TAILS or part.isdigit() for part in tail)
        before = parts[at - 1] if at else ""
        if word in _STRONG_WORDS:
            return "strong"
        if word not in _WEAK_WORDS:
            continue
        if word in {"token", "tokens"} and before in _TOKEN_FORERUNNERS:
            continue
        if word in {"key", "keys"} and before in _KEY_FORERUNNERS:
            continue
        if settled and (before in _OWNERS or (shouted and len(parts) > 1)):
            return "strong"
        if settled:
            best = "weak"
        elif best == "none" and word in {"key", "token"}:
            best = "mention"
    if "connectionstring" in plain.replace("_", "") or plain.endswith("conn_str"):
        return "strong"
    return best


def abbreviates_server_secret(option: str) -> bool:
    """Whether `option` is a shortened form that argparse takes for a secret argument (`--api-k`, `--ssl-keyfile-p`)."""
    plain = option.strip("-").replace("_", "-").lower()
    starts = {"api": "api-key", "admin": "admin-api-key", "ssl-keyfile-": "ssl-keyfile-password"}
    return any(plain.startswith(start) and whole.startswith(plain) for start, whole in starts.items())


def is_number(value: str) -> bool:
    """Whether `value` is a plain number."""
    return _NUMBER.fullmatch(value) is not None


def holds_nothing(value: str) -> bool:
    """Whether `value` gives nothing away: empty, `None`, a reference to a variable, or already redacted."""
    return (
        value.strip().lower() in _EMPTY_VALUES
        or _STAND_INS.fullmatch(value.strip()) is not None
        or _REFERENCE.fullmatch(value) is not None
    )


def looks_random(value: str) -> bool:
    """Whether `value` looks drawn by a machine: long, letters and digits, no path."""
    return (
        len(value) >= 16
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and "/" not in value[:1]
        and "." not in value
    )
