"""Masking. Credentials are put together at run time, so that no scanner takes this file for a leak."""

import base64
import json
import random
import re
import string
from importlib.resources import files

import pytest

from citewise.text.redaction import Redaction
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
    ("google-client-secret", "GOCSPX-" + drawn(28, URL64)),
    ("databricks-token", "dapi" + drawn(32, HEX)),
    ("mailgun-key", "key-" + drawn(32, HEX)),
    ("age-key", "AGE-SECRET-KEY-1" + drawn(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    *(
        ("discord-token", f"{base64.b64encode(number).decode().rstrip('=')}.{drawn(6, URL64)}.{drawn(38, URL64)}")
        for number in (b"80351110224678912", b"417263548172635481", b"1217263548172635480")
    ),
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
    ("https://discord.com/api/webhooks/417263548172635481/{}", drawn(68, URL64), "discord-webhook"),
    ("https://discordapp.com/api/v10/webhooks/417263548172635481/{}?wait=1", drawn(68, URL64), "discord-webhook"),
    ("the bot 110201543:{} answers", "A" + drawn(34, URL64), "telegram-token"),
    ("https://api.telegram.org/bot110201543:{}/getMe", "A" + drawn(34, URL64), "telegram-token"),
    ("https://a.blob.example/c/b?sv=2024-11-04&sig={}", drawn(20) + "%2B" + drawn(20) + "%3D", "signed-url"),
    ("https://b.example/k?X-Amz-Expires=60&X-Amz-Signature={}", drawn(64, HEX), "signed-url"),
    ("https://b.example/k?X-Goog-Date=1&X-Goog-Signature={}&a=b", drawn(256, HEX), "signed-url"),
    ("https://c.example/i?Expires=1&Signature={}&Key-Pair-Id=K", drawn(90) + "~__", "signed-url"),
    ('"url": "https://b.example/k?a=1\\u0026sig={}"', drawn(44), "signed-url"),
    ('{{"auths": {{"r.example": {{"auth": "{}"}}}}}}', base64.b64encode(b"ann:letmein").decode(), "docker-auth"),
    ("Set-Cookie: session={}; Path=/; HttpOnly", drawn(32), "session-cookie"),
    ("Cookie: theme=dark; PHPSESSID={}; lang=en", drawn(26), "session-cookie"),
    ("curl -b 'a=1' --cookie \"connect.sid={}\" x", "s%3A" + drawn(32), "session-cookie"),
    ("backup --password {} --all", PLAIN, "password"),
    ("backup --db-password '{}'", PLAIN, "password"),
    ("backup --password={} x", PLAIN, "password"),
    ("keytool -storepass {} -list", PLAIN, "password"),
    ("gpg --batch --passphrase {} -d a", PLAIN, "password"),
    ("deploy --token {}", KEY, "token"),
    ("deploy --api-key {} --dry-run", KEY, "key"),
    ("az login --client-secret {}", PLAIN, "shared-secret"),
    ("mysql -h db -u root -p{} shop", PLAIN, "password"),
    ("mysqldump -uroot -p'{}' shop > a.sql", "swordfish", "password"),
    ("mariadb --host=db \\\n  -p{}", PLAIN, "password"),
    ("curl -u ann:{} https://host", PLAIN, "password"),
    ("curl -s -X POST https://host \\\n  --user 'ann:{}' -d a", "swordfish", "password"),
    ("sshpass -p {} ssh host", PLAIN, "password"),
    ("docker login -u ann -p {} r.example", PLAIN, "password"),
    ("redis-cli -h cache -a {} ping", PLAIN, "password"),
    ("The root password is {}.", PLAIN, "password"),
    ("Its password was {}, until May.", PASSWORD, "password"),
    ("The password is now set: the token is **{}**!", KEY, "token"),
    ("`password` is `{}`", PLAIN, "password"),
    ('the api_key is "{}"', KEY, "key"),
    ("passphrase: {}", "correct horse battery staple", "password"),
    ('  "passphrase": "{}",', "correct-horse-battery-staple", "password"),
    ("The passphrase is '{}'.", "correct horse battery staple", "password"),
    ("password:\n  {}\nport: 1", PLAIN, "password"),
    ("password: |\r\n  {}\r\nport: 1", PLAIN, "password"),
    ("client_secret: >-\n    {}\n", KEY, "shared-secret"),
    ('"password":\n    "{}",', PLAIN, "password"),
    ("> **Password:**\n> `{}`\n", PLAIN, "password"),
    ("Use this token:\n\n```text\n{}\n```\n", KEY, "token"),
    ("<password>{}</password>", PLAIN, "password"),
    ("<ns:password kind='plain'>\n  {}\n</ns:password>", PLAIN, "password"),
    ("<server><apiKey>{}</apiKey></server>", KEY, "key"),
    ("| user | Password |\n| --- | :-: |\n| ann | {} |\n", PLAIN, "password"),
    ("user | db_password\n-----|-----\nann | `{}`\n\npassword | 1", PLAIN, "password"),
    (" user | password \n------+----------\n ann  | {}\n(1 row)", PLAIN, "password"),
    ("+---+-------+\n| a | Token |\n+===+=======+\n| 1 | {} |\n+---+-------+\n| 2 | none |", KEY, "token"),
    ("> | API key | a |\n> |---------|---|\n> | {} | b |\n> | none | 2 |", KEY, "key"),
    ("pass\u200bword = '{}'", PLAIN, "password"),
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
    # Sentences about passwords and tokens
    "The password is required.",
    "The password is stored hashed, with argon2id or PBKDF2-SHA256.",
    "A password is case-sensitive and 8-64 characters long.",
    "The password was reset in 2024-05; the token is RS256-signed.",
    "The secret is base64url-encoded, the key is 256-bit AES.",
    "The password is `required`, the token is `optional`",
    "The token is v2.1.3-beta.4 of the format.",
    "The password is $DB_PASSWORD1, the token is ${TOKEN1}.",
    "the password is changeme123",
    "the default password is <password1>",
    "passphrase: enter the phrase that protects your key",
    "passphrase: minimum twelve characters long",
    "Passphrase: Optional. Words are separated by blanks.",
    "passphrase: required unless empty",
    "Password:\n\n2 upper-case letters, at least",
    "password:\n  type: string\n  minLength: 8",
    "password:\n  secretKeyRef2:\n    name: db",
    "Token:\n======\n\nText",
    # Options of commands
    "backup --password <PASSWORD1>",
    "backup --password PASSWORD --token TOKEN",
    "backup --password $PASSWORD1 --token ${TOKEN1} --secret $(pass show db1)",
    'backup --password "$PASSWORD1" --token "{{ token1 }}"',
    "--password-file /run/secrets/db1 --token-ttl 3600s2",
    "--password string   the password of the database (default 8 characters)",
    "  -p, --password TEXT  [env var: DB_PASSWORD2]",
    "docker run -p 8080:80 -p8443:443 mysql:8",
    "ssh -p 2222 host; mkdir -p a1b2c3/d4; cp -pr1 a b",
    "mysql -u root -p shop",
    "mysql -u root -p$MYSQL_PASSWORD -ppassword -p'<password>'",
    "mysql is a database; it has a -prefix1 option",
    "curl -u $USER:$PASS https://host",
    'curl -u "${USER}:${PASS}" https://host',
    "curl -u user:password https://host; curl -u ann https://host",
    "curl -u user:access_token --user <name>:<key> https://host:8080",
    "curl -u YOUR_USER:YOUR_PASSWORD https://host",
    "docker login -u ann --password-stdin; docker login -p $TOKEN1",
    # Tables
    "| Option | Password |\n| --- | --- |\n| ann | yes |\n| bob | required |\n| eve | 12+ |\n| dan | SHA-256 |",
    "| Name | Token |\n|---|---|\n| a | `color-primary-500` |\n| b | a word of 32 characters1 |\n| c | *** |",
    "| password | string |\n| --- | --- |\n| token | text1 |",
    "| Secret | Namespace |\n|---|---|\n| db-password-2 | shop1 |\n| ${SECRET1} | <name2> |",
    "| user | password\nann | a1b2c3d4\n",
    # What is long and random, and no credential
    "id: 123e4567-e89b-12d3-a456-426614174000, session=123e4567-e89b-12d3-a456-426614174000",
    "git show 3f786850e387550fdab836ed7e6dc881de23001b -p",
    "data:image/png;base64," + base64.b64encode(bytes(range(256))).decode(),
    "integrity: sha512-" + drawn(86, ALNUM + "+/") + "==",
    "at 12:30:45:ABC and 1700000000:A" + "b" * 20,
    "MTA4 and ODA are words, NTFS.formats.too",
    "https://host/verify?signature=required&sig=${SIGNATURE1}&sig=short1",
    "X-Hub-Signature: sha256=" + drawn(64, HEX),
    "dapibus" + " key-value key-" + "0" * 32,
    "https://discord.com/api/webhooks/ID/TOKEN and https://discord.com/api/webhooks/<id>/<token>",
    "Set-Cookie: session=<id>; Path=/ and Cookie: theme=dark-blue-2024; lang=en",
    '"auth": "oauth2", "auth": "none", "auth": "' + base64.b64encode(b"no colon here").decode() + '"',
    "<password>string</password> <token>{{token1}}</token> <password/> <key>abcd1234</key>",
    "<label>Password:</label><input type='password' minlength2='8'>",
    "Private-Lines: 2\nThe next\ntwo lines\n",
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


def test_a_private_key_of_putty_is_as_long_as_it_says() -> None:
    lines = [drawn(64, ALNUM + "+/", seed=line) for line in range(2)]
    around = (
        "PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 3\n{}\n{}\n{}\nPrivate-MAC: 1f\nThen\n"
    )
    found = masked(around.format(*lines, "Qz=="))
    assert found.text.replace("<secret:private-key>==", "<secret:private-key>") == around.format(
        *["<secret:private-key>"] * 3
    )
    assert found.counts == {"private-key": 1}


def test_every_cell_of_a_column_and_every_cookie_of_a_header_is_judged() -> None:
    rows = [f"| ann{number} | {drawn(12, seed=number)} |" for number in range(9)]
    assert masked("\n".join(("| user | password |", "|--|--|", *rows))).counts == {"password": 9}
    header = "; ".join(f"session_id={drawn(20, seed=number)}" for number in range(3))
    assert masked(f"Cookie: {header}").counts == {"session-cookie": 3}


@pytest.mark.parametrize("hidden", ["\u200b", "\u00ad", "\u2060\u200d", "\ufeff", "\ufe0f"])
def test_characters_that_nobody_sees_hide_nothing(hidden: str) -> None:
    token = "ghp_" + drawn(36)
    found = masked(f"é{hidden} {hidden}a {hidden.join(token)}{hidden} b {hidden.join(PLAIN)}")
    assert found.text == f"é{hidden} {hidden}a <secret:github-token>{hidden} b {hidden.join(PLAIN)}"
    assert masked(hidden.join(f"the password is {PLAIN}")).counts == {"password": 1}


@pytest.mark.parametrize(
    ("form", "value"), [(form, value) for form, value, _ in ASSIGNMENTS] + [("{}", t) for _, t in TOKENS]
)
def test_the_query_log_hides_whatever_is_hidden_in_a_document(form: str, value: str) -> None:
    assert (Redaction.MASKED(form.format(value)) or "").count(value) == form.count(value)


def shapes() -> list[list[str]]:
    text = files("citewise").joinpath("data", "secret-shapes.txt").read_text("utf-8")
    return [line.split("  ") for line in text.splitlines() if line and not line.startswith("#")]


def test_every_shape_says_where_it_comes_from() -> None:
    for *_, source in shapes():
        assert re.fullmatch(r"gitleaks:[a-z\d]+(?:-[a-z\d]+)*|https://[\w.-]+/[\w./#-]+", source), source


def test_every_kind_has_an_example_here() -> None:
    assert {kind for kind, *_ in shapes()} == {kind for kind, _ in TOKENS} | {kind for *_, kind in ASSIGNMENTS}


def test_clean_text_comes_back_as_the_same_object() -> None:
    text = "Nothing here but prose.\n" * 50
    assert masked(text).text is text


HOSTILE = (
    *("eyJ", "eyJ-", "eyJaaaaaaaa.", "sk-", "ghp_", "xoxb-", "glpat-", "SG.", "SG.aaaaaaaaaaaaaaaaaaaaaa.", "AKIA"),
    *("password=", "password: ", "password='", "password=xxxx", "password=a&b=", "password=$A", "token:str=", "key"),
    *("api_key_", "secret_access_key=", "Authorization: Bearer ", "://", "://a:", "://a:b@", "://:::::", "_-._-."),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "A1" * 8, "&a", "\\n", "a.", " "),
    *("-----BEGIN PRIVATE KEY-----\n" + "A1b2" * 8 + "\n", "https://hooks.slack.com/services/", "<secret:key>=1"),
    *(
        "curl ",
        "curl -u ",
        "curl \\\n",
        "mysql -a ",
        "mysql -p",
        "sshpass -p ",
        " login -p ",
        "--password ",
        "--token=",
    ),
    *("password is ", "password is a.", "the password is ....", "passphrase: a b ", "passphrase: ab-", "password:\n"),
    *(
        "password: |\n",
        "token:\n\n```\n",
        "<password>",
        "<password a",
        "<token>a1b2c3</",
        "Cookie: session=a1b2c3d4e5f6g7h8;",
    ),
    *("cookie sessionid=", "|-", "|---|\n", "| password ", "| password |\n|---|\n", "| a1b2c3d4 |\n", "+---+\n", "-+-"),
    *(
        "| password |\n|---|\n| a1b2c3 |\n\n",
        "\u200b",
        "pass\u200bword=a1b2",
        "MTA4",
        "MTA4.",
        ":A",
        "1234567:A",
        "&sig=",
    ),
    *("Private-Lines: 9\n", "Private-Lines: 9999\n" + "A1b2" * 8 + "\n", '"auth": "', "github_pat_", "x" * 19 + "."),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_hostile_text_takes_linear_time(piece: str) -> None:
    assert_linear(masked, piece, characters=1_000_000)


def test_every_value_of_one_command_is_masked() -> None:
    found = masked("curl -u ann:hunter2x -u bob:swordfish9 https://a.example")
    assert found.text == "curl -u ann:<secret:password> -u bob:<secret:password> https://a.example"
    assert found.counts == {"password": 2}
