"""Settings: what a file may say, and what is said about a mistake."""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast import InvalidInput
from holdfast.daemon.settings.sample import sample
from holdfast.daemon.settings.settings import ApiSettings, DaemonSettings, Settings, described
from holdfast.daemon.settings.settings_file import load
from tests.certificates import make_certificate


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "holdfast.toml"


@pytest.fixture
def certificate(file: Path) -> Path:
    """The folder of the settings, with a certificate and its key in it."""
    return make_certificate(file.parent)


def refused(file: Path, text: str) -> str:
    """What is said about a file."""
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        load(file)
    return str(caught.value)


def test_without_a_file_everything_has_its_default() -> None:
    assert load() == Settings()


def test_an_empty_file_changes_nothing(file: Path) -> None:
    file.write_text("")
    assert load(file) == Settings()


def test_what_the_file_says_is_taken(file: Path) -> None:
    file.write_text(
        """
        [daemon]
        store = "postgresql://localhost/work"
        concurrency = { mail = 2, default = 5 }
        keep = "1d12h"
        short = 1.5
        [api]
        port = 0
        max_body = "1MiB"
        [logs]
        level = "debug"
        [observe]
        canary_every = 0
        [sla]
        enqueue = "5ms"
        """
    )
    settings = load(file)
    assert settings.daemon == DaemonSettings(
        store="postgresql://localhost/work", concurrency={"mail": 2, "default": 5}, keep=129_600.0, short=1.5
    )
    assert settings.api == ApiSettings(port=0, max_body=1 << 20)
    assert (settings.logs.level, settings.observe.canary_every, settings.sla.enqueue) == ("debug", 0, 0.005)


@pytest.mark.usefixtures("certificate")
def test_paths_are_seen_from_the_folder_of_the_file(file: Path) -> None:
    file.write_text(
        '[daemon]\napps = ["tasks.py:hf", "pkg.tasks:hf"]\nstore = "work.db"\n'
        '[api]\ntls_cert = "cert.pem"\ntls_key = "key.pem"\n'
    )
    settings = load(file)
    assert settings.daemon.apps == (str(file.parent / "tasks.py:hf"), "pkg.tasks:hf")
    assert settings.daemon.store == str(file.parent / "work.db")
    assert settings.api.tls_cert == str(file.parent / "cert.pem")


def test_an_option_stands_above_the_file_and_one_not_given_does_not(file: Path) -> None:
    file.write_text("[api]\nport = 1\n[daemon]\nworkers = 2\n")
    settings = load(file, {"api.port": 5, "daemon.workers": None})
    assert (settings.api.port, settings.daemon.workers) == (5, 2)


def test_a_wrong_option_is_named_as_one() -> None:
    with pytest.raises(InvalidInput, match=r"^--port = 70000 is not valid: use a whole number from 0 to 65535$"):
        load(None, {"api.port": 70_000})


def test_an_unknown_key_is_named_with_the_one_that_was_meant(file: Path) -> None:
    said = refused(file, "[daemon]\nwrokers = 2\n")
    assert said.startswith(f"{file}: daemon.wrokers is not known: did you mean workers? [daemon] has store, ")


def test_an_unknown_section_is_named_with_the_sections(file: Path) -> None:
    said = refused(file, "[deamon]\nworkers = 2\n")
    sections = ", ".join([*Settings.__struct_fields__, "queues", "watch"])
    assert said == f"{file}: [deamon] is not known: did you mean daemon? the sections are {sections}"
    assert "[queue] is not known: did you mean queues?" in refused(file, '[queue.index]\nclass = "heavy"\n')


def test_a_setting_outside_of_its_section_is_refused(file: Path) -> None:
    assert refused(file, "workers = 2\n").startswith(f"{file}: [workers] is not known: ")
    assert refused(file, "daemon = 2\n") == f"{file}: daemon = 2 is not valid: [daemon] is a section with settings"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[daemon]\nworkers = -1", "daemon.workers = -1 is not valid: use a whole number from 0 to 1000"),
        ("[daemon]\nworkers = true", "daemon.workers = True is not valid: use a whole number from 0 to 1000"),
        ('[daemon]\ndurability = "most"', "daemon.durability = 'most' is not valid: use one of 'full', 'normal'"),
        ("[daemon]\napps = 'a:b'", "daemon.apps = 'a:b' is not valid: use a list of texts"),
        ("[daemon]\nconcurrency = { mail = -1 }", "daemon.concurrency = -1 is not valid: use a whole number from 0"),
        ("[daemon]\nconcurrency = { 'a b' = 1 }", "daemon.concurrency: queue 'a b' is not valid: use * or 1 to 200"),
        ('[daemon]\nkeep = "a week"', "daemon.keep = 'a week' is not valid: use 0 s to 100 years, in seconds or"),
        ("[daemon]\nkeep = nan", "daemon.keep = nan is not valid"),
        ("[daemon]\nkeep = -1", "daemon.keep = -1 is not valid"),
        ('[daemon]\nstore = ""', "daemon.store = '' is not valid: use a text"),
        ('[api]\nmax_body = "16 megs"', "api.max_body = '16 megs' is not valid: use 64KiB to 1GiB, in bytes or as"),
        ("[api]\nallow_remote = 1", "api.allow_remote = 1 is not valid: use true or false"),
        ('[logs]\nlevel = "loud"', "logs.level = 'loud' is not valid: use one of 'debug', 'info'"),
        ('[observe]\notlp = "localhost:4318"', "observe.otlp = 'localhost:4318' is not valid: use an http:// or"),
        ('[observe]\notlp = "http://ann:hush@h:0/"', "observe.otlp = 'http://***@h:0/' is not valid"),
        ('[observe]\notlp = "http://[x"', "observe.otlp = 'http://[x' is not valid"),
        ("[sla]\nenqueue = 0", "sla.enqueue = 0 is not valid: use 1 ms to 1 h"),
        ("[pressure]\ncpu = 90", 'pressure.cpu = 90 is not valid: use 0.9 or "90%" for 90 %'),
        ("[pressure]\ndisk = 1", 'pressure.disk = 1 is not valid: use 0.01 or "1%" for 1 %'),
        ("[pressure]\nmemory = '100%'", "pressure.memory = '100%' is not valid: use a number from 0, below 1, or a"),
        ("[pressure]\ngpu = -0.1", "pressure.gpu = -0.1 is not valid: use a number from 0, up to 1, or a text"),
        ("[pressure]\ngpu = true", "pressure.gpu = True is not valid: use a number from 0, up to 1, or a text"),
        ("[pressure]\nwal = 300", "pressure.wal = 300 is not valid: use 0, or 1MiB to 1TiB, in bytes or as a text"),
        ('[pressure]\ndisk_bytes = "5KiB"', "pressure.disk_bytes = '5KiB' is not valid: use 0, or 1MiB to"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(file: Path, line: str, said: str) -> None:
    assert refused(file, line).startswith(f"{file}: {said}")


@pytest.mark.parametrize("content", [b"[daemon\n", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match="are not TOML"):
        load(file)


def test_a_file_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"the settings {file} cannot be read (No such file")):
        load(file)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_door_for_this_machine_alone_needs_no_leave(host: str) -> None:
    assert load(None, {"api.host": host}).api.host == host


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_a_door_to_the_network_needs_leave_and_tls(host: str, certificate: Path) -> None:
    options: dict[str, Any] = {"api.host": host}
    with pytest.raises(InvalidInput, match="allow_remote = true"):
        load(None, options)
    options["api.allow_remote"] = True
    with pytest.raises(InvalidInput, match=r"tls_cert and api\.tls_key, or api\.behind_proxy = true"):
        load(None, options)
    assert load(None, options | {"api.behind_proxy": True}).api.host == host
    tls = {"api.tls_cert": str(certificate / "cert.pem"), "api.tls_key": str(certificate / "key.pem")}
    assert load(None, options | tls).api.host == host


def test_a_certificate_without_its_key_is_refused(file: Path) -> None:
    assert "set both, or neither" in refused(file, "[api]\ntls_cert = 'cert.pem'\n")


def test_a_certificate_that_is_not_there_is_refused(file: Path) -> None:
    assert "cannot be read; give the path of a PEM file" in refused(
        file, "[api]\ntls_cert = 'cert.pem'\ntls_key = 'key.pem'\n"
    )


def test_a_file_that_is_no_certificate_is_refused(file: Path, certificate: Path) -> None:
    (certificate / "cert.pem").write_text("Dear Ada,")
    assert "give a certificate and its key" in refused(file, "[api]\ntls_cert = 'cert.pem'\ntls_key = 'key.pem'\n")


def test_a_part_of_a_log_cannot_be_larger_than_the_whole(file: Path) -> None:
    assert "runs.log_segment = 8388608" in refused(file, "[runs]\nlog_bytes = '1MiB'\n")


def test_a_share_may_be_written_in_percent(file: Path) -> None:
    file.write_text('[pressure]\ncpu = "90%"\ngpu = 1\nmemory = "2.5 %"\ndisk = 0\nwal = 0\ndisk_bytes = "2MiB"\n')
    found = load(file).pressure
    assert (found.cpu, found.gpu, found.memory, found.disk) == (0.9, 1, 0.025, 0)
    assert (found.wal, found.disk_bytes) == (0, 2 << 20)


def test_the_sample_shows_queues_and_watches_by_example(file: Path) -> None:
    for head in ("[queues.NAME]", "[[watch]]"):
        example = sample().partition(f"# {head}\n")[2].partition("\n\n")[0]
        file.write_text(f"{head}\n" + "\n".join(re.findall(r"^#   (\w+ = .*)", example, re.MULTILINE)))
        load(file)
        assert file.read_text().count(" = ") > 5


def test_the_sample_changes_nothing_as_it_is(file: Path) -> None:
    file.write_text(sample())
    assert load(file) == Settings()


@pytest.mark.usefixtures("certificate")
def test_every_line_of_the_sample_can_be_used(file: Path) -> None:
    text = re.sub(r"^# (\w+ = )", r"\1", sample(), flags=re.MULTILINE)
    file.write_text(text)
    settings, shown = load(file), tomllib.loads(text)
    for section in msgspec.structs.fields(Settings):
        names = section.type.__struct_fields__
        assert tuple(shown[section.name]) == names
        for name in names:
            default = getattr(section.default, name)
            assert default is None or getattr(getattr(settings, section.name), name) == default


def test_every_setting_says_what_it_means() -> None:
    for section in msgspec.structs.fields(Settings):
        for name, says in described(section.type).items():
            assert says.text.endswith("."), name
            assert says.example is not None or getattr(section.default, name) is not None, name
