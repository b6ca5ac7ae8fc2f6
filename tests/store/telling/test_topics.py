"""What a commit is about reaches programs of other versions: what they know, and nothing that harms them."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Struct

from holdfast.store.engine import Changes
from holdfast.store.postgres.listener import MAX_NOTICE, pack, unpack
from holdfast.store.topics import (
    APPS,
    DUE,
    FILES,
    FOREIGN,
    STOPS,
    TOPICS,
    UNKNOWN,
    WATCHES,
    WORKSPACES,
    Topic,
    TopicFlags,
)
from holdfast.wire.told_changes import ToldChanges

# As a program of 0.5.0 sent them.
OLD_NOTICE = '{"sender":"p","ready":["a"],"ended":["j"],"due":true,"stops":true,"unknown":true,"files":true}'
OLD_LINE = (
    b'{"ready":["a"],"ended":["j"],"due":true,"stops":true,"unknown":true,"foreign":true,"watches":true,"files":true}'
)
QUIET_LINE = (
    b'{"ready":[],"ended":["j"],"due":false,"stops":false,"unknown":false,'
    b'"foreign":false,"watches":false,"files":false}'
)


class OldNotice(Struct, frozen=True):
    """What a program of 0.5.0 reads of a NOTIFY."""

    sender: str
    ready: list[str] = []
    ended: list[str] = []
    due: bool = False
    stops: bool = False
    unknown: bool = False
    files: bool = False


class OldChanges(Struct):
    """What a program of 0.5.0 reads of a line of the stream."""

    ready: set[str] = set()
    ended: set[str] = set()
    due: bool = False
    stops: bool = False
    unknown: bool = False
    foreign: bool = False
    watches: bool = False
    files: bool = False


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """A topic of a version to come."""
    topic = Topic("weather", by_notify=True, by_stream=True)
    monkeypatch.setitem(TOPICS, topic.name, topic)
    return topic


def test_the_flags_are_those_of_old_programs_and_topics_since_then_have_none() -> None:
    assert set(TopicFlags.__struct_fields__) - {"topics"} == set(OldChanges.__struct_fields__) - {"ready", "ended"}
    assert set(TOPICS) - set(TopicFlags.__struct_fields__) == {"apps", "workspaces"}


def test_what_an_old_program_sends_is_understood() -> None:
    assert unpack(OLD_NOTICE).changes() == Changes({"a"}, {"j"}, {DUE, STOPS, UNKNOWN, FILES, FOREIGN})
    assert ToldChanges.read(OLD_LINE) == Changes({"a"}, {"j"}, set(TOPICS.values()) - {APPS, WORKSPACES})
    assert ToldChanges.read(QUIET_LINE) == Changes(ended={"j"})


def test_an_old_program_reads_what_it_always_read(weather: Topic) -> None:
    changes = Changes({"a"}, {"j"}, {DUE, STOPS, UNKNOWN, FOREIGN, WATCHES, FILES, weather})
    notice = msgspec.json.decode(pack(changes, "p"), type=OldNotice)
    assert notice == msgspec.json.decode(OLD_NOTICE, type=OldNotice)
    line = ToldChanges.of(changes).encoded()
    assert msgspec.json.decode(line, type=OldChanges) == msgspec.json.decode(OLD_LINE, type=OldChanges)
    quiet = msgspec.json.decode(ToldChanges.of(Changes(ended={"j"}, topics={weather})).encoded())
    assert msgspec.json.decode(QUIET_LINE).items() <= quiet.items()


def test_that_it_was_another_process_is_no_news_by_itself() -> None:
    elsewhere = Changes(ended={"j"}, topics={FOREIGN})
    assert elsewhere
    assert not elsewhere.for_tasks({"t"})
    assert Changes(new={"q": {"t"}}, topics={FOREIGN}).for_tasks({"t"}) == Changes({"q"}, topics={FOREIGN})


def test_a_topic_that_is_not_known_is_passed_over(weather: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = Changes(ended={"j"}, topics={DUE, weather})
    notice, line = pack(changes, "p"), ToldChanges.of(changes).encoded()
    assert weather in unpack(notice).changes().topics
    assert ToldChanges.read(line) == changes
    monkeypatch.delitem(TOPICS, weather.name)
    assert unpack(notice).changes() == Changes(ended={"j"}, topics={DUE, FOREIGN})
    assert ToldChanges.read(line) == Changes(ended={"j"}, topics={DUE})


def test_what_goes_beside_jobs_is_told_though_the_jobs_are_too_many(weather: Topic) -> None:
    many = Changes({f"queue{number:04}" for number in range(MAX_NOTICE // 4)}, topics={DUE, FILES, weather})
    assert unpack(pack(many, "p")).changes() == Changes(topics={UNKNOWN, FOREIGN, FILES, weather})
