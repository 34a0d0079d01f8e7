"""Masking. Credentials are put together at run time, so that no scanner takes this file for a leak."""

import base64
import json
import random
import string

import pytest

from citewise.text.secrets import masked
from tests.growth import assert_linear

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
URL64 = ALNUM + "-_"


def drawn(length: int, alphabet: str = ALNUM, *, seed: int = 7) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=length))


def part(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


JWT = ".".join((part({"alg": "HS256"}), part({"sub": "ann", "role": "admin"}), drawn(43, URL64)))

TOKENS = (
    ("digitalocean-token", "dop_v1_" + drawn(64, HEX)),
    ("vault-token", "hvs." + drawn(28)),
    ("google-oauth-token", "ya29." + drawn(40)),
    ("docker-token", "dckr_pat_" + drawn(27)),
    ("shopify-token", "shpat_" + drawn(32, HEX)),
    ("aws-access-key", "AKIA" + drawn(16, string.ascii_uppercase + "234567")),
    ("aws-access-key", "ASIA" + drawn(16, string.ascii_uppercase)),
    *(("github-token", f"gh{kind}_" + drawn(36)) for kind in "posur"),
    ("github-token", "github_pat_" + drawn(22) + "_" + drawn(59)),
    ("gitlab-token", "glpat-" + drawn(20, URL64)),
    ("slack-token", "xoxb-" + drawn(12, string.digits) + "-" + drawn(13, string.digits) + "-" + drawn(24)),
    ("slack-token", "xoxp-" + drawn(12, string.digits) + "-" + drawn(32, HEX)),
    ("slack-token", "xapp-1-A" + drawn(10) + "-" + drawn(13, string.digits) + "-" + drawn(64, HEX)),
    ("google-api-key", "AIza" + drawn(35, URL64)),
    ("stripe-key", "sk_live_" + drawn(24)),
    ("stripe-key", "rk_live_" + drawn(24)),
    ("stripe-key", "sk_test_" + drawn(24)),
    ("model-api-key", "sk-" + drawn(48)),
    ("model-api-key", "sk-proj-" + drawn(64, URL64)),
    ("model-api-key", "sk-ant-api03-" + drawn(90, URL64)),
    ("hugging-face-token", "hf_" + drawn(34, string.ascii_letters)),
    ("npm-token", "npm_" + drawn(36)),
    ("pypi-token", "pypi-AgEI" + drawn(60, URL64)),
    ("sendgrid-key", "SG." + drawn(22, URL64) + "." + drawn(43, URL64)),
    ("twilio-key", "SK" + drawn(32, HEX)),
    ("jwt", JWT),
    ("aws-access-key", "AKIA" + "IOSFODNN7EXAMPLE"),  # though it is a well-known example
)


@pytest.mark.parametrize(("kind", "token"), TOKENS, ids=[f"{kind}-{token[:6]}" for kind, token in TOKENS])
@pytest.mark.parametrize("around", ["{}", "use `{}` here", "call({!r});", "x\\n{}\\n", "?a=%20{}&b=1", "({})."])
def test_a_token_goes_wherever_it_stands(kind: str, token: str, around: str) -> None:
    found = masked(around.format(token))
    assert token not in found.text
    assert f"<secret:{kind}>" in found.text
    assert found.counts == {kind: 1}


PASSWORD = "Tr0ub4dor" + "&3"
PLAIN = "hunt" + "er22"
KEY = drawn(32, HEX)

ASSIGNMENTS = (
    ('password = "{}"', PASSWORD, "password"),
    ("password: '{}'", PLAIN, "password"),
    ("DB_PASSWORD={}", PASSWORD, "password"),
    ("export PGPASSWORD={} && psql", PLAIN, "password"),
    ("passwd: {}", PLAIN, "password"),
    ("  password: {}  # for the demo", PLAIN, "password"),
    ("db.pwd := `{}`", PLAIN, "password"),
    ('{{"user": "ann", "passphrase": "{}", "a": 1}}', PLAIN, "password"),
    ('settings["password"] = "{}"', PLAIN, "password"),
    ('password: str = "{}"', PLAIN, "password"),
    ('if password == "{}":', PLAIN, "password"),
    ("**Password:** {}", PLAIN, "password"),
    ("Server=db;Password={};Port=1", PLAIN, "password"),
    ("<password>\npassword={}</password>", PLAIN, "password"),
    ('password = "{}"', "qYtRbW" + "zKpLdN", "password"),
    ("secret_key={}", KEY, "shared-secret"),
    ("SECRET_KEY = '{}'", KEY, "shared-secret"),
    ("client_secret={}", KEY, "shared-secret"),
    ('clientSecret: "{}",', KEY, "shared-secret"),
    ("api_key: {}", KEY, "key"),
    ('"apiKey": "{}"', KEY, "key"),
    ("X-Api-Key: {}", KEY, "key"),
    ("APIKEY={}", KEY, "key"),
    ("AccountName=a;AccountKey={};", drawn(86, ALNUM + "+/") + "==", "key"),
    ("access_token={}", KEY, "token"),
    ('GITHUB_TOKEN="{}"', "ghp_" + drawn(36), "github-token"),
    ("Schlüssel 🔑 İ: password = '{}' — fin", PLAIN, "password"),
    ("https://host/x?access_token={}&page=2", KEY, "token"),
    ("auth_token => '{}'", KEY, "token"),
    ("aws_secret_access_key = {}", drawn(40, ALNUM + "/+"), "aws-secret-key"),
    ('"SecretAccessKey": "{}"', drawn(40, ALNUM + "/+"), "aws-secret-key"),
    ("Authorization: Bearer {}", KEY, "authorization"),
    ("curl -H 'authorization: token {}' x", KEY, "authorization"),
    ('headers["Authorization"] = "Basic {}"', base64.b64encode(b"ann:letmein").decode(), "authorization"),
    ("https://ann:{}@host/x", PLAIN, "url-password"),
    ("postgresql://app:{}@db:5432/app", "postgres", "url-password"),
    ("redis://:{}@cache", PLAIN, "url-password"),
    ("https://hooks.slack.com/services/{}", f"T{drawn(9)}/B{drawn(9)}/{drawn(24)}", "slack-webhook"),
)


@pytest.mark.parametrize(("form", "value", "kind"), ASSIGNMENTS, ids=[form for form, *_ in ASSIGNMENTS])
def test_a_value_goes_and_everything_around_it_stays(form: str, value: str, kind: str) -> None:
    found = masked(form.format(value))
    assert found.text == form.format(f"<secret:{kind}>")
    assert found.counts == {kind: 1}


STAYS = (
    *(
        form.format(value)
        for form in ('password = "{}"', "api_key: {}", "ACCESS_TOKEN={}", "Authorization: Bearer {}")
        for value in (
            *("<token>", "${TOKEN1}", "$TOKEN1", "{{ token1 }}", "your-password1", "changeme", "xxxx", "xxxx1234"),
            *("****", "1...", "example1", "null", "None", "true", "false", "string", "%API_KEY1%", "<secret:key>"),
            *("REPLACE_ME_1", "<your key 1>", "aaaa1111aaaa", "my-token-1", "{token1}", "/run/secrets/db1"),
        )
    ),
    'password = os.environ["DB_PASSWORD_1"]',
    "password = os.getenv('PASSWORD1')",
    "token: process.env.TOKEN_1,",
    "apiKey: import.meta.env.VITE_KEY1",
    "password: string",
    "password: str",
    "password: str | None = None",
    "secretKey: Uint8Array,",
    "token = generate_token2()",
    "token = tokens[0]",
    "connect(user=user1, password=password1, token=token2)",
    "token = self.token2.value",
    "token: useIdToken",
    "const password = getDefaultUserPassword",
    "Password: the one you chose in step 2",
    "password: between 8 and 64 characters",
    "The token: a string of 32 characters.",
    "max_tokens: 4096",
    "token: oauth2",
    "secret: sha256",
    "secretName: db-password-2",
    "token: 'color-primary-500'",
    "password: !vault |",
    "password: *password1",
    "password: ''",
    "keys: 12345678a",
    "monkey = 'ab12cd34'",
    "api_key",
    "https://user:password@host/",
    "https://<user>:<password>@host/",
    "https://${USER}:${PASS1}@host/",
    "http://localhost:3000/@scope/page",
    "git@github.com:org/repo.git",
    "ghp_" + "x" * 36,
    "sk-" + "your-api-key-goes-here-1",
    "sk-fading-circle-animation-dot-12",
    "task-" + drawn(30),
    "https://hooks.slack.com/services/T00000000/B00000000/" + "X" * 24,
    "a commit 3f786850e387550fdab836ed7e6dc881de23001b and a digest sha256:" + drawn(64, HEX),
    "import {useThemeConfigFeatures2022} from '@docusaurus/theme-common-internal-v2';",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + drawn(64) + "\n-----END CERTIFICATE-----",
)


@pytest.mark.parametrize("text", STAYS)
def test_what_only_stands_for_a_credential_stays(text: str) -> None:
    assert masked(text).text == text


def a_private_key(*, kind: str = "RSA ", lines: int = 3, prefix: str = "", end: str = "\n") -> str:
    body = [drawn(64, ALNUM + "+/", seed=line) for line in range(lines)] + ["Qz=="]
    armor = (f"-----BEGIN {kind}PRIVATE KEY-----", *body, f"-----END {kind}PRIVATE KEY-----")
    return "".join(prefix + line + end for line in armor)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("prefix", ["", "    ", "> "])
def test_a_private_key_is_replaced_line_by_line(kind: str, prefix: str) -> None:
    found = masked(f"before\n{a_private_key(kind=kind, prefix=prefix)}after password\n")
    lines = found.text.split("\n")
    assert lines[0] == "before"
    assert lines[1] == f"{prefix}-----BEGIN {kind}PRIVATE KEY-----"
    assert lines[2:5] == [f"{prefix}<secret:private-key>"] * 3
    assert "Qz==" not in lines[5]  # the short last line
    assert lines[6:] == [f"{prefix}-----END {kind}PRIVATE KEY-----", "after password", ""]
    assert found.counts == {"private-key": 1}
    assert masked(a_private_key(kind=kind) * 2).counts == {"private-key": 2}


def test_a_private_key_inside_a_string_is_one_mask() -> None:
    found = masked(f'{{"private_key": "{a_private_key(kind="", end=chr(92) + "n")}"}}')
    assert found.text.count("<secret:private-key>") == 1
    assert drawn(64, ALNUM + "+/", seed=1) not in found.text


def test_a_private_key_without_an_end_gives_back_the_prose_after_it() -> None:
    cut = a_private_key().split("-----END")[0]
    text = masked(cut + "\nAnd then, internationalization-wise, all is well.\n").text
    assert "<secret:private-key>" in text
    assert text.endswith("And then, internationalization-wise, all is well.\n")


def test_headers_of_an_encrypted_key_stay_readable() -> None:
    first, *rest = a_private_key().split("\n")
    text = masked("\n".join((first, "Proc-Type: 4,ENCRYPTED", "DEK-Info: DES-EDE3-CBC", "", *rest))).text
    assert "DEK-Info: DES-EDE3-CBC" in text
    assert drawn(64, ALNUM + "+/", seed=0) not in text


def test_clean_text_comes_back_as_the_same_object() -> None:
    text = "Nothing here but prose.\n" * 50
    assert masked(text).text is text


HOSTILE = (
    *("eyJ", "eyJ-", "eyJaaaaaaaa.", "sk-", "ghp_", "xoxb-", "glpat-", "SG.", "SG.aaaaaaaaaaaaaaaaaaaaaa.", "AKIA"),
    *("password=", "password: ", "password='", "password=xxxx", "password=a&b=", "password=$A", "token:str=", "key"),
    *("api_key_", "secret_access_key=", "Authorization: Bearer ", "://", "://a:", "://a:b@", "://:::::", "_-._-."),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "A1" * 8, "&a", "\\n", "a.", " "),
    *("-----BEGIN PRIVATE KEY-----\n" + "A1b2" * 8 + "\n", "https://hooks.slack.com/services/", "<secret:key>=1"),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_hostile_text_takes_linear_time(piece: str) -> None:
    assert_linear(masked, piece, characters=1_000_000)
