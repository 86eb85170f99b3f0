"""A running server: hostile readers, several readers, two processes behind nginx, a clean stop."""

import asyncio
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.tools import fuzz, load, meter
from tests.tools.server import NGINX, Front, Running, behind_nginx, healthy, start, stop
from tests.tools.wire import LESSON, Wire, WireError

# A wire that the server cuts, as some tests here demand, is reported by Tornado when collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = start(tmp_path_factory.mktemp("server") / "log")
    yield running
    stop(running)


def test_hostile_input_reaches_no_reader_no_log_and_no_other_session():
    found = asyncio.run(fuzz.run(n=200, attackers=2, seed=7))
    assert {name: found.get(name, 0) for name in fuzz.MUST_BE_ZERO} == dict.fromkeys(
        fuzz.MUST_BE_ZERO, 0
    )
    assert found["inputs"] >= 200


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same workload in less time: readers that type more often, sessions looked at sooner."""
    monkeypatch.setattr(load, "BETWEEN_BURSTS_S", (1.0, 3.0))
    monkeypatch.setattr(load, "SESSIONS_END_S", 2)
    monkeypatch.setattr(meter, "SESSIONS_END_S", 2)
    monkeypatch.setattr(meter, "CALIBRATION", 4)
    monkeypatch.setattr(meter, "SILENCE_S", 1)


def test_several_readers_load_and_type_without_an_error(monkeypatch: pytest.MonkeyPatch):
    shorten(monkeypatch)
    found = asyncio.run(load.measure(readers=4, minutes=0.1, waves=2))
    assert list(load.faults(found)) == [], found["first_errors"]
    assert found["answers"] > 0
    assert found["wires_lost"] == 0


def test_a_flood_of_questions_is_answered_with_the_last_one_only(server: Running):
    async def flood() -> int:
        wire = await Wire.open(server.url)
        for number in range(1, 200):
            entries = [["id", number], ["part", "run"], ["text", f"cat {number}"]]
            await wire.patch("ask", {"type": "map", "entries": entries})
        wire.asked = 199
        answers = 0
        while True:
            kind, content = await asyncio.wait_for(wire.receive(), 30)
            if kind != "PATCH-DOC":
                continue
            answers += 1
            if "cat 199" in str(content):
                await wire.close()
                return answers

    assert asyncio.run(flood()) < 100


def test_another_origin_may_not_open_the_wire(server: Running):
    from tornado.httpclient import HTTPClientError, HTTPRequest  # noqa: PLC0415
    from tornado.websocket import websocket_connect  # noqa: PLC0415

    address = server.url.replace("http", "ws") + LESSON + "/ws"

    async def knock() -> None:
        await websocket_connect(HTTPRequest(address, headers={"Origin": "http://evil.example"}))

    with pytest.raises(HTTPClientError, match="403"):
        asyncio.run(knock())


def test_a_session_nobody_signed_is_refused(server: Running):
    address = server.url.replace("http", "ws") + LESSON + "/ws"

    async def forge() -> None:
        from tornado.httpclient import HTTPRequest  # noqa: PLC0415
        from tornado.websocket import websocket_connect  # noqa: PLC0415

        request = HTTPRequest(address, headers={"Origin": server.url})
        token = "eyJzZXNzaW9uX2lkIjogIm1pbmUifQ"  # noqa: S105 -- {"session_id": "mine"}, unsigned
        socket = await websocket_connect(request, subprotocols=["bokeh", token])
        if await socket.read_message() is None:
            raise WireError("closed")

    with pytest.raises(Exception, match=r"closed|403|HTTP"):
        asyncio.run(forge())


def test_the_health_address_needs_no_page(server: Running):
    assert healthy(server.url)


def test_stopping_is_clean_and_says_so(tmp_path: Path):
    running = start(tmp_path / "log")
    assert stop(running) == 0
    assert '"event": "stopped"' in running.log.read_text()
    assert "Traceback" not in running.log.read_text()


@pytest.fixture
def two_behind_nginx(tmp_path: Path) -> Iterator[Front]:
    with behind_nginx(tmp_path) as front:
        yield front


needs_nginx = pytest.mark.skipif(
    NGINX is None, reason="nginx is not installed (apt-get install nginx-light)"
)


@needs_nginx
def test_two_processes_behind_nginx_serve_readers_and_outlive_one(two_behind_nginx: Front):
    async def eight_readers() -> set[str]:
        said = set()
        for number in range(8):
            wire = await Wire.open(two_behind_nginx.url)
            reply, _ = await wire.ask(f"the cat sees {number}")
            said.add(reply["run"]["text"])
            await wire.close()
        return said

    assert len(asyncio.run(eight_readers())) == 8
    stop(two_behind_nginx.backs[0])
    assert len(asyncio.run(eight_readers())) == 8


@needs_nginx
def test_a_reader_keeps_one_process(two_behind_nginx: Front):
    jar = CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    for _ in range(3):
        with opener.open(two_behind_nginx.url + LESSON) as page:
            assert page.status == 200
    assert [cookie.name for cookie in jar].count("kvreader") == 1


@needs_nginx
def test_readers_of_a_killed_process_find_their_sentence_at_the_other(
    monkeypatch: pytest.MonkeyPatch,
):
    shorten(monkeypatch)
    found = asyncio.run(load.measure(readers=8, minutes=0.3, waves=1, nginx=True, kill=True))
    assert list(load.faults(found)) == [], found["first_errors"]
    assert 0 < found["wires_lost"] == found["recovered"]
