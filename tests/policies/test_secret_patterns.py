import random
import string
import time

import pytest

from toolkit.policies.redaction import Redaction
from toolkit.policies.secret_patterns import SECRET_PATTERNS, find_secret

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def _letters(count, alphabet=_LETTERS):
    """Return *count* letters, always the same ones, so that no token stands in this file."""
    return "".join(random.Random(count).choices(alphabet, k=count))


# The first letters of a token, and how many letters of which alphabet follow. The forms are those that the services
# describe; a text in the place of a number is taken as it is.
TOKENS = [
    ("sk-proj-", 48), ("sk-ant-api03-", 93), ("sk-or-v1-", 64, _HEX), ("ghp_", 36), ("gho_", 36), ("ghu_", 36), ("ghs_", 36),
    ("ghr_", 36), ("github_pat_", 82), ("glpat-", 20), ("glptt-", 40, _HEX), ("gldt-", 20), ("glrt-", 20), ("glcbt-", 22),
    ("GR1348941", 20), ("AKIA", 16, string.ascii_uppercase), ("ASIA", 16, string.ascii_uppercase), ("AIza", 35),
    ("GOCSPX-", 28), ("ya29.", 60), ("1//0", 60), ("xoxb-1234567890-", 24), ("xoxe.xoxp-1-", 60), ("xapp-1-", 60),
    ("https://hooks.slack.com/services/T00000000/B00000000/", 24), ("sk_live_", 24), ("rk_live_", 24), ("sk_test_", 24),
    ("whsec_", 32), ("npm_", 36), ("pypi-AgEIcHlwaS5vcmc", 80), ("hf_", 34), ("api_org_", 34), ("SG.", 22, _LETTERS, ".", 43),
    ("shpat_", 32, _HEX), ("shpss_", 32, _HEX), ("glsa_", 32, _LETTERS, "_", 8, _HEX), ("glc_", 60), ("hvs.", 24), ("hvb.", 90),
    ("dop_v1_", 64, _HEX), ("dor_v1_", 64, _HEX), ("dckr_pat_", 27), ("dapi", 32, _HEX), ("lin_api_", 40), ("ntn_", 46),
    ("secret_", 43), ("pat", 14, _LETTERS, ".", 64, _HEX), ("figd_", 40), ("PMAK-", 24, _HEX, "-", 34, _HEX),
    ("NRAK-", 27, string.ascii_uppercase), ("sntrys_", 80), ("sntryu_", 64, _HEX), ("sq0atp-", 22), ("EAAA", 60),
    ("SK", 32, _HEX), ("key-", 32, _HEX), ("", 32, _HEX, "-us12"), ("1234567890:AA", 33), ("M", 25, _LETTERS, ".", 6, _LETTERS, ".", 38),
    ("EAAB", 80), ("r8_", 37), ("gsk_", 52), ("xai-", 80), ("pplx-", 48), ("csk-", 48, _HEX), ("pcsk_", 60), ("lsv2_pt_", 32, _HEX),
    ("sbp_", 40, _HEX), ("sb_secret_", 31), ("nfp_", 36), ("fm2_", 80), ("fo1_", 43), ("HRKU-", 36), ("pscale_tkn_", 43),
    ("pscale_pw_", 43), ("dp.pt.", 43), ("ATATT3", 180), ("ATBB", 28), ("sl.", 130), ("abc8Q~", 34), ("LTAI", 20), ("rubygems_", 48, _HEX),
    ("oy2", 43, string.ascii_lowercase), ("pul-", 40, _HEX), ("ops_eyJ", 200), ("AGE-SECRET-KEY-1", 58, string.ascii_uppercase),
    ("tskey-auth-", 30), ("dt0c01.", 24, string.ascii_uppercase, ".", 64, string.ascii_uppercase), ("phx_", 43),
    ("xkeysib-", 64, _HEX, "-", 16), ("re_", 8, _LETTERS, "_", 24), ("CCIPAT_", 22, _LETTERS, "_", 40, _HEX), ("CFPAT-", 43),
    ("duffel_live_", 43), ("tfp_", 44), ("shippo_live_", 40, _HEX), ("sgp_", 40, _HEX), ("nvapi-", 64), ("jina_", 60), ("tvly-", 32),
    ("fc-", 32, _HEX), ("apify_api_", 36), ("wandb_v1_", 40), ("ck_", 40, _HEX), ("", 14, _LETTERS, ".atlasv1.", 67), ("bkua_", 40, _HEX),
    ("v1.0-", 24, _HEX, "-", 146, _HEX),
]  # fmt: skip


def _make_token(parts):
    text, parts = "", list(parts)
    while parts:
        part = parts.pop(0)
        if isinstance(part, int):
            part = _letters(part, parts.pop(0) if parts else _LETTERS)
        text += part
    return text


@pytest.mark.parametrize("parts", TOKENS, ids=lambda parts: parts[0] or parts[-1])
@pytest.mark.parametrize("line", ["{}", "use {} here", "token={}", '{{"key": "{}"}}', "TOKEN_{}", "({})."])
def test_a_token_of_a_service_is_found_and_covered(parts, line):
    token = _make_token(parts)
    assert find_secret(line.format(token)) is not None
    masked = Redaction(pattern for _, pattern in SECRET_PATTERNS).mask_text(line.format(token))
    assert not any(token[at : at + 12] in masked for at in range(len(token) - 12))


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n-----END PGP PRIVATE KEY BLOCK-----",
        f"Authorization: Bearer {_letters(30)}",
        f"Authorization: Basic {_letters(20)}==",
        f"curl -H 'Authorization: token {_letters(40)}' example.com",
        f"the header was bearer {_letters(40)}",
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={_letters(86)}==",
        f"Endpoint=sb://a.net/;SharedAccessKeyName=Root;SharedAccessKey={_letters(43)}=",
        f"https://discord.com/api/webhooks/123456789/{_letters(68)}",
        "redis://:hunter2@cache:6379/0",
        f"refresh_token={_letters(40)}1",
        f"private_key: {_letters(40)}1",
    ],
)
def test_a_secret_inside_other_text_is_found(text):
    assert find_secret(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        f"call_{_letters(24)}",
        f"toolu_01{_letters(22)}",
        f"msg_01{_letters(22)}",
        f"chatcmpl-{_letters(29)}",
        f"resp_{_letters(48, _HEX)}",
        f"req_{_letters(24)}",
        "123e4567-e89b-12d3-a456-426614174000",
        f"commit {_letters(40, _HEX)}",
        f"sha256:{_letters(64, _HEX)}",
        "def hf_load_model_from_cache_directory(path): ...",
        "npm_config_registry_settings_for_everybody",
        "sk_learn_pipeline_with_many_steps",
        "gsk_get_default_renderer_for_surface_or_none",
        "re_compile_and_match_everything_in_the_text",
        "key-value-store-with-many-different-entries",
        "pat.findall(text)",
        "sl.sort_values(by=columns, ascending=False)",
        "the bearer of this letter is a friend of the house",
        "Authorization is described in docs/auth.md",
        "https://example.com/a/b?page=3&sort=name",
        "http://[::1]:8080/a@b",
        "see docs/access_token.md for the format",
        "pypi-publish is the name of the workflow",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "1234567890: Apples and pears for the winter, in boxes",
    ],
)
def test_ids_and_ordinary_texts_are_not_secrets(text):
    assert find_secret(text) is None


@pytest.mark.parametrize(
    "unit", ["a", "a_", "sk", "sk-", "eyJ.", "://", "a:", "password=", "bearer ", "-----BEGIN ", "A.", "x@", '"']
)
def test_the_time_grows_with_the_length_of_the_text(unit):
    started = time.thread_time()
    find_secret(unit * (60_000 // len(unit)))
    assert time.thread_time() - started < 3
