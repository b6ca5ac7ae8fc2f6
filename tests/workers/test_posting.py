"""One POST to a real server that fails, hangs and lies: what comes of it, and that it always comes to an end."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import read_url
from holdfast.workers.builtin.posting import (
    MOST_READ,
    Post,
    PostAnswer,
    PostFailed,
    PostPatience,
    Resolve,
    look_up,
    send,
)
from tests.certificates import make_certificate
from tests.workers.receiver import (
    LOOPBACK,
    PATIENCE_S,
    Behaviour,
    Receiver,
    answering,
    dripping,
    endless,
    flooding,
    hanging,
    receiving,
    saying,
)

ALLOWED = AddressPolicy.of([LOOPBACK])
SHORT_S = 0.3


def post(
    url: str,
    *,
    policy: AddressPolicy = ALLOWED,
    seconds: float = PATIENCE_S,
    resolve: Resolve = look_up,
    body: bytes = b"{}",
) -> PostAnswer:
    request = Post(read_url(url), {"Content-Type": "application/json"}, body)
    return send(request, policy, PostPatience(seconds, lambda: None), resolve)


def refused(url: str, **options: object) -> PostFailed:
    with pytest.raises(PostFailed) as failure:
        post(url, **options)  # type: ignore[arg-type]
    return failure.value


def test_the_receiver_gets_what_was_sent_and_its_answer_comes_back() -> None:
    with receiving(answering(202, "X-Said: yes", body=b"thanks")) as receiver:
        answer = post(receiver.url, body=b'{"a":1}')
    [request] = receiver.requests
    assert (request.line, request.body) == ("POST /hook?team=a HTTP/1.1", b'{"a":1}')
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert (answer.status, answer.headers["x-said"], answer.body) == (202, "yes", b"thanks")


@pytest.mark.parametrize(
    "behaviour",
    [hanging, dripping(b"HTTP/1.1 200 OK\r\n"), dripping(b""), dripping(b"HTTP/1.1 100 Continue\r\n\r\n")],
    ids=["hangs", "drips headers", "drips its first line", "drips behind a continue"],
)
def test_a_receiver_that_never_comes_to_an_end_is_given_up(behaviour: Behaviour) -> None:
    with receiving(behaviour) as receiver:
        assert refused(receiver.url, seconds=SHORT_S).code == "ERR_WEBHOOK_TIMEOUT"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\xff\x00 garbage",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200,
    ],
    ids=["nothing", "garbage", "another protocol", "no status", "too many headers"],
)
def test_an_answer_that_is_not_http_is_a_failure(text: bytes) -> None:
    with receiving(saying(text)) as receiver:
        assert refused(receiver.url).code in ("ERR_WEBHOOK_ANSWER", "ERR_WEBHOOK_UNREACHABLE")


@pytest.mark.parametrize(
    "behaviour",
    [
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"),
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nmuch longer"),
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"),
        saying(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nx"),
        saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
    ],
    ids=["too short", "too long", "negative", "no number", "bad chunk", "drips its body"],
)
def test_the_status_counts_whatever_is_wrong_with_the_body(behaviour: Behaviour) -> None:
    with receiving(behaviour) as receiver:
        assert post(receiver.url).status == 200


def test_of_an_endless_answer_the_beginning_is_read() -> None:
    with receiving(endless) as receiver:
        answer = post(receiver.url)
    assert (answer.status, len(answer.body)) == (200, MOST_READ)


def test_an_answer_that_lies_about_its_length_is_not_read_without_a_bound() -> None:
    with receiving(flooding(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n")) as receiver:
        assert post(receiver.url).status == 200
    # What the system keeps between the two is a few MiB; a second of reading is hundreds.
    assert receiver.said < 32 << 20


def test_headers_without_an_end_are_a_failure() -> None:
    with receiving(flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)) as receiver:
        assert refused(receiver.url).code == "ERR_WEBHOOK_ANSWER"


def test_a_redirect_is_not_followed() -> None:
    with receiving() as elsewhere, receiving(answering(307, f"Location: {elsewhere.url}")) as receiver:
        assert post(receiver.url).status == 307
        assert elsewhere.requests == []


def test_a_receiver_that_is_not_there_is_a_failure() -> None:
    with receiving() as receiver:
        url = receiver.url
    assert refused(url).code == "ERR_WEBHOOK_UNREACHABLE"


def test_nothing_is_sent_to_an_address_that_is_not_allowed() -> None:
    with receiving() as receiver:
        failure = refused(receiver.url, policy=AddressPolicy())
    assert (failure.code, receiver.requests) == ("ERR_WEBHOOK_ADDRESS", [])
    assert "127.0.0.1, which is loopback; nothing was sent" in str(failure)


def test_one_address_that_is_not_allowed_is_enough_to_refuse_a_name() -> None:
    with receiving() as receiver:
        url = f"http://hooks.example:{receiver.port}/"
        failure = refused(
            url, policy=AddressPolicy.of(["127.0.0.1"]), resolve=lambda host, port: ["127.0.0.1", "10.0.0.1"]
        )
    assert (failure.code, receiver.requests) == ("ERR_WEBHOOK_ADDRESS", [])


def test_a_name_that_means_something_else_a_moment_later_leads_nowhere_else() -> None:
    answers = [["203.0.113.1"], ["127.0.0.1"]]
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    with receiving() as receiver:
        url = f"http://hooks.example:{receiver.port}/"
        # The address that was checked is the one that is called; nobody answers there.
        first = refused(url, policy=AddressPolicy.of(["203.0.113.0/24"]), resolve=rebinding, seconds=SHORT_S)
        assert asked == ["hooks.example"]
        assert first.code in ("ERR_WEBHOOK_UNREACHABLE", "ERR_WEBHOOK_TIMEOUT")
        second = refused(url, policy=AddressPolicy.of(["203.0.113.0/24"]), resolve=rebinding)
        assert (second.code, receiver.requests) == ("ERR_WEBHOOK_ADDRESS", [])


def test_the_next_address_is_tried_where_one_takes_no_connection() -> None:
    with receiving() as receiver:
        url = f"http://hooks.example:{receiver.port}/"
        assert post(url, resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"]).status == 204
    assert receiver.requests[0].headers["host"] == f"hooks.example:{receiver.port}"


def test_a_resolver_that_hangs_is_given_up() -> None:
    with receiving() as receiver:

        def stuck(host: str, port: int) -> list[str]:
            receiver.is_over.wait(PATIENCE_S)
            return []

        assert refused("http://hooks.example/", resolve=stuck, seconds=SHORT_S).code == "ERR_WEBHOOK_TIMEOUT"


@pytest.mark.parametrize("found", [[], None])
def test_a_name_without_an_address_is_a_failure(found: list[str] | None) -> None:
    def resolve(host: str, port: int) -> list[str]:
        if found is None:
            raise OSError("nobody knows it")
        return found

    assert refused("http://hooks.example/", resolve=resolve).code == "ERR_WEBHOOK_UNREACHABLE"


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert post(receiver.url).status == 204
        assert proxy.requests == []


def test_who_is_asked_to_stop_does_not_wait_for_an_answer() -> None:
    class Asked(BaseException):
        pass

    with receiving(hanging) as receiver:

        def check() -> None:
            if receiver.requests:
                raise Asked

        request = Post(read_url(receiver.url), {}, b"{}")
        with pytest.raises(Asked):
            send(request, ALLOWED, PostPatience(PATIENCE_S, check), look_up)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for hooks.example, and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "hooks.example")


def secure(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    return context


def post_securely(receiver: Receiver, host: str) -> PostAnswer:
    return post(f"https://{host}:{receiver.port}/", resolve=lambda host, port: ["127.0.0.1"])


def test_a_certificate_is_checked_against_the_name_of_the_receiver(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving(tls=secure(certificate)) as receiver:
        with pytest.raises(PostFailed, match="certificate cannot be trusted") as failure:
            post_securely(receiver, "hooks.example")
        assert failure.value.code == "ERR_WEBHOOK_TLS"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
        assert post_securely(receiver, "hooks.example").status == 204
        with pytest.raises(PostFailed, match="certificate cannot be trusted"):
            post_securely(receiver, "other.example")
        assert len(receiver.requests) == 1


def test_a_receiver_that_speaks_no_tls_is_a_failure() -> None:
    with receiving(hanging) as receiver:
        failure = refused(f"https://127.0.0.1:{receiver.port}/", seconds=SHORT_S)
        assert failure.code in ("ERR_WEBHOOK_TLS", "ERR_WEBHOOK_TIMEOUT", "ERR_WEBHOOK_UNREACHABLE")
