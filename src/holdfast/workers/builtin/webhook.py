"""The task `holdfast.webhook`: tells one receiver about one event.

The run asks for the signed request when it runs. Neither the URL nor a secret is in the payload of the job, and no
secret leaves the store.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import TIMEOUT_MS, WEBHOOK, WEBHOOK_QUEUE, read_url
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.webhooks import webhooks
from holdfast.tasks.context import Context
from holdfast.tasks.raising import Permanent, Transient
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec

if TYPE_CHECKING:
    from holdfast.workers.builtin.posting import PostAnswer, Resolve

DELIVERIES = 64  # at once, in one process; each receiver has a share of them
GONE_FOR_GOOD = 410
ASK_FOR_PATIENCE = (429, 503)
MOST_PATIENCE_S = 3_600
LONGEST_EXCERPT = 500
DISABLED, GONE, REDIRECT, STATUS = (
    "ERR_WEBHOOK_DISABLED",
    "ERR_WEBHOOK_GONE",
    "ERR_WEBHOOK_REDIRECT",
    "ERR_WEBHOOK_STATUS",
)


class Deliverer:
    """Delivers with these settings. `resolve` finds the addresses of a host, by default as the system does."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        policy: AddressPolicy,
        timeout_ms: Millis = TIMEOUT_MS,
        resolve: Resolve | None = None,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._policy = policy
        self._timeout_ms = timeout_ms
        self._resolve = resolve

    @property
    def spec(self) -> TaskSpec:
        """The task for a worker."""
        return TaskSpec(
            name=WEBHOOK,
            queue=WEBHOOK_QUEUE,
            function=self.deliver,
            schema=PayloadSchema(WEBHOOK, self.deliver, skip_first=True),
            wants_context=True,
            permanent=(),
            roams=False,
        )

    def deliver(
        self,
        ctx: Context,
        webhook_id: str,
        delivery_id: str,
        event_id: str,
        event_name: str,
        emitted_at: Millis,
        attributes: dict[str, str],
        key: str,
        data: Any = None,
    ) -> dict[str, int]:
        """Send it. The result is the status of the answer."""
        # Imported late: most workers deliver nothing.
        from holdfast.workers.builtin.posting import Post, PostFailed, PostPatience, look_up, send

        try:
            request = self._engine.query(webhooks.request_of_run, ctx.run_id, self._clock.now())
        except (Conflict, NotFound) as error:
            raise Permanent(str(error), code=DISABLED) from None
        patience = PostPatience((request.timeout_ms or self._timeout_ms) / 1000, ctx.check)
        try:
            post = Post(read_url(request.url), request.headers | {"User-Agent": _name()}, request.body.encode())
            answer = send(post, self._policy, patience, self._resolve or look_up)
        except PostFailed as failure:
            raise Transient(str(failure), code=failure.code) from None
        self._judge(ctx, request.url, answer)
        return {"status": answer.status}

    def _judge(self, ctx: Context, url: str, answer: PostAnswer) -> None:
        """Whether the receiver took it. All other answers are retried, as receivers fail, and get repaired."""
        status = answer.status
        if 200 <= status < 300:
            return
        said = f"it answered {status} {answer.reason}".strip()
        if answer.body:
            ctx.log.warning("%s: %s", said, answer.body[:LONGEST_EXCERPT].decode("utf-8", "replace"))
        if status == GONE_FOR_GOOD:
            self._engine.run(webhooks.note_gone, ctx.run_id, self._clock.now(), url)
            raise Permanent(f"{said}; nothing more is sent there", code=GONE)
        if 300 <= status < 400:
            raise Transient(f"{said}; redirects are not followed, give the final URL", code=REDIRECT)
        asked = answer.headers.get("retry-after") if status in ASK_FOR_PATIENCE else None
        wait = 0.0 if asked is None else patience_asked_for(asked, self._clock.now())
        raise Transient(said, code=STATUS, wait=wait)


def _name() -> str:
    from holdfast.version import VERSION  # Imported late: it is slow to read.

    return f"Holdfast/{VERSION}"


def patience_asked_for(retry_after: str, now: Millis) -> float:
    """The seconds that a receiver asks to wait, at most an hour. 0 if it cannot be understood."""
    from email.utils import parsedate_to_datetime

    text = retry_after.strip()
    try:
        if text.isascii() and text.isdigit():
            seconds = float(text[:10])
        else:
            moment = parsedate_to_datetime(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now / 1000
    except (ValueError, TypeError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), MOST_PATIENCE_S)
