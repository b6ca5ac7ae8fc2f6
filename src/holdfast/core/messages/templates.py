"""Templates: requests that are stored by name."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.tasks.task import TemplateOptions


class NewTemplate(Struct, frozen=True, kw_only=True):
    """A template to be stored. `payload` is what its jobs run with, unless they say otherwise.

    What it leaves open, such as its queue, is as its task declares.
    """

    id: str
    name: str
    task: str
    queue: str | None = None
    payload: str = "{}"
    options: TemplateOptions = TemplateOptions()


class Template(Struct, frozen=True, kw_only=True):
    """A template as it stands in the store. `known` is false where no worker has declared its task lately."""

    id: str
    name: str
    task: str
    queue: str | None
    payload: str
    options: TemplateOptions
    created_at: Millis
    updated_at: Millis
    archived_at: Millis | None
    known: bool = True


class TemplateChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be different about a template; None leaves it as it is."""

    task: str | None = None
    queue: str | None = None
    payload: str | None = None
    options: TemplateOptions | None = None
