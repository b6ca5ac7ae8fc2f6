"""The tasks of a small photo and film studio. The daemon of `make up` runs them in a worker process.

They sleep instead of working.
"""

import time

from holdfast import Context, Holdfast, Permanent, Retry, Transient

hf = Holdfast()  # a client of the daemon: the jobs are there, and this code runs in its worker


@hf.task(queue="photos")
def resize_photo(ctx: Context, name: str) -> str:
    """Ordinary work that tells how far it is."""
    for step in range(1, 6):
        time.sleep(0.1)
        ctx.progress(step / 5)
    ctx.log.info("%s fits into a letter now", name)
    return f"{name} is small now"


@hf.task(queue="photos", subprocess=True, memory_mb=2_048, cpu=60)
def contact_sheet(ctx: Context, names: list[str]) -> int:
    """In a process of its own: should the library for pictures crash, it crashes alone. Leaves a file behind."""
    print(f"putting {len(names)} photos on one page")
    ctx.artifact("contact-sheet.txt").write_text("\n".join(names) + "\n")
    return len(names)


@hf.task(queue="film", retry=3)
def render_film(ctx: Context, title: str, seconds: int) -> str:
    """Long work with checkpoints: whatever happens to its process, the next run goes on where this one was."""
    first = ctx.job.checkpoint or 0
    ctx.log.info("begin at second %d of %r, attempt %d", first, title, ctx.attempt)
    for second in range(first, seconds):
        ctx.progress(second / seconds, f"second {second} of {seconds}")
        if second % 5 == 0:
            ctx.checkpoint(second)
        if ctx.should_yield:
            ctx.checkpoint(second)
            ctx.check()
        time.sleep(1)
    return f"{title} is rendered"


@hf.task(queue="film")
def publish_film(title: str) -> str:
    """Waits for the film: `after=`."""
    return f"{title} is in the cinemas"


@hf.task(retry=Retry(100, initial=5, cap=60))
def order_prints(ctx: Context, photo: str) -> None:
    """The print shop's server is down, and nobody knows for how long."""
    ctx.log.warning("no prints of %s yet", photo)
    raise Transient("the print shop answered 503")


@hf.task(retry=3)
def charge_card(order: str) -> None:
    """No retry would help, so its three retries stay unused."""
    raise Permanent(f"the card for order {order} has expired", code="ERR_CARD_EXPIRED")


@hf.task(subject="catalogue::{path}")
def index_catalogue(path: str) -> str:
    """The subject says what the job is about: a newer save of the same file makes the older ones pointless."""
    return f"{path} is indexed"


@hf.cron("* * * * *", payload={"shop": "online"})
@hf.task(queue="office")
def count_orders(shop: str) -> str:
    """By the clock, every minute, as long as the daemon is up."""
    return f"the {shop} shop has no new orders"


@hf.task(queue="mail")
def send_mail(to: str) -> str:
    """Its queue is paused in the demo."""
    return f"wrote to {to}"


@hf.task
def send_invoice(customer: str) -> str:
    """Nothing special; the caller says when."""
    return f"{customer} has an invoice"
