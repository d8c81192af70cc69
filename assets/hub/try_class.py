"""Try a class on this machine: students at once on a hub of their own, what they take, and what a crash leaves of it.

    python assets/hub/try_class.py --students 20

It needs `pip install -e ".[hub]"` and `npm install configurable-http-proxy`, whose program is found on the PATH. The
hub is on the loopback address, with a token of its own, in a temporary folder. Each student opens lesson 2, runs every
cell, presses Step and Back, and saves; then one kernel, the hub and one server are killed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

HERE = Path(__file__).resolve().parent
LESSON = "lessons/02-backward-one-node-at-a-time.ipynb"
# What the page of JupyterLab asks for when it is opened, beside its scripts.
PAGE = (f"lab/tree/{LESSON}", "lab/api/settings", "lab/api/translations", "api/kernelspecs", "api/nbconvert", "api/me")
STEPPER = "w, b, loss = model()\ns = workbench.step(loss)\ns"  # a cell that the lesson has too
PATIENCE = 240  # s
PRESSES = 24  # of Step and Back, by each student
PROXY = "configurable-http-proxy"

CONFIG = """
load_subconfig({base!r})
c.JupyterHub.log_level = "WARN"
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {password!r}
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {home!r}
c.Spawner.args = {arguments!r}
c.JupyterHub.services = [{{"name": "class", "api_token": {token!r}}}]
scopes = ["admin:users", "admin:servers", "access:servers", "read:hub"]
c.JupyterHub.load_roles = [{{"name": "class", "scopes": scopes, "services": ["class"]}}]
"""


def free_ports(count: int) -> list[int]:
    """Return free ports of the loopback address."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Hub:
    """A hub in a folder, with its proxy and its students' servers, until it is closed."""

    def __init__(self, folder: Path, site: Path | None = None) -> None:
        self.folder, self.site = folder, site
        self.token = secrets.token_hex(24)
        port, hub_port, api_port = free_ports(3)
        self.address = f"http://127.0.0.1:{port}"
        text = CONFIG.format(
            base=str(HERE / "class_base.py"),
            port=port,
            hub_port=hub_port,
            api_port=api_port,
            proxy=shutil.which(PROXY) or PROXY,
            password=secrets.token_hex(24),
            home=str(folder / "{username}"),
            arguments=["--allow-root"] if os.geteuid() == 0 else [],
            token=self.token,
        )
        self.config = folder / "jupyterhub_config.py"
        self.config.write_text(text, encoding="utf-8")
        self.config.chmod(0o600)
        self._processes: list[subprocess.Popen[bytes]] = []

    async def start(self) -> None:
        """Start the hub, or restart it after it was killed, and wait until it answers."""
        environment = os.environ | ({"PYTHONPATH": str(self.site)} if self.site else {})
        command = [sys.executable, "-m", "jupyterhub", "-f", str(self.config)]
        with open(self.folder / "log", "ab") as log:
            begun = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self._processes.append(begun)

        async def answers() -> bool:
            if begun.poll() is not None:
                raise RuntimeError(f"the hub ended:\n{self.log()}")
            return await self.ask("hub/api/users") is not None

        await wait_until(answers, "the hub answers")

    def log(self) -> str:
        """What the hub and the servers have said."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """Kill the hub's process as a crash does: the proxy and the servers are left."""
        self._processes[-1].kill()
        self._processes[-1].wait()

    async def ask(self, path: str, method: str = "GET", said: Any = None) -> Any:
        """What a REST interface answers as JSON: of the hub below `hub/api/`, of a server below `user/NAME/api/`."""
        body = json.dumps(said) if said is not None else "" if method in ("POST", "PUT") else None
        answer = await self.fetch(path, method, body)
        return json.loads(answer) if answer else True

    async def fetch(self, path: str, method: str = "GET", body: str | None = None) -> bytes:
        """What the hub or a server answers."""
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        asked = HTTPRequest(f"{self.address}/{path}", method, headers, body, request_timeout=PATIENCE)
        return (await AsyncHTTPClient().fetch(asked)).body

    def servers(self) -> dict[str, psutil.Process]:
        """The process of each student's server."""
        found = {}
        for process in psutil.process_iter():
            try:
                if str(HERE / "start.py") in process.cmdline() and Path(process.cwd()).parent == self.folder:
                    found[process.environ()["JUPYTERHUB_USER"]] = process
            except (psutil.Error, KeyError):
                continue
        return found

    def close(self) -> None:
        """End the hub, the proxy and all servers."""
        left = [process for server in self.servers().values() for process in (server, *server.children(recursive=True))]
        for path in self.folder.glob("*.pid"):  # the proxy's
            try:
                left.append(psutil.Process(int(path.read_text())))
            except (psutil.Error, ValueError):
                pass
        for begun in self._processes:
            if begun.poll() is None:
                begun.kill()
                begun.wait()
        for end in (psutil.Process.terminate, psutil.Process.kill):  # a server that is killed leaves files
            for process in left:
                try:
                    end(process)
                except psutil.Error:
                    pass
            left = psutil.wait_procs(left, timeout=30)[1]


async def wait_until(holds: Callable[[], Awaitable[Any]], what: str) -> Any:
    """Ask again until something holds, and give what was answered; no connection yet is a no."""
    end = time.monotonic() + PATIENCE
    refused = ""
    while time.monotonic() < end:
        try:
            found = await holds()
            if found:
                return found
        except (HTTPClientError, OSError) as error:
            refused = f" ({error})"
        await asyncio.sleep(1)  # more often, and twenty who ask keep the hub busy
    raise TimeoutError(f"not within {PATIENCE} s: {what}{refused}")


@dataclass
class Student:
    """One student at the hub: what a page of JupyterLab asks of the server, and how long it took."""

    hub: Hub
    name: str
    kernel: str = ""
    comms: list[str] = field(default_factory=list)  # of steppers, the last one is shown last
    seconds: dict[str, float] = field(default_factory=dict)
    steps: list[float] = field(default_factory=list)  # s
    notebook: Any = None
    socket: WebSocketClientConnection | None = None

    @property
    def place(self) -> str:
        """The path that the student's server answers below."""
        return f"user/{self.name}/api"

    async def enter(self) -> None:
        """Log in for the first time, or again: the server starts."""
        began = time.monotonic()
        known = [user["name"] for user in await self.hub.ask("hub/api/users")]
        if self.name not in known:
            await self.hub.ask(f"hub/api/users/{self.name}", "POST")
        await self.hub.ask(f"hub/api/users/{self.name}/server", "POST")

        async def ready() -> bool:
            user = await self.hub.ask(f"hub/api/users/{self.name}")
            return any(server["ready"] for server in user["servers"].values())

        await wait_until(ready, f"the server of {self.name}")
        self.seconds["server"] = time.monotonic() - began

    async def leave(self) -> None:
        """Stop the server, and wait until it is gone."""
        await self.hub.ask(f"hub/api/users/{self.name}/server", "DELETE")

        async def gone() -> bool:
            return not (await self.hub.ask(f"hub/api/users/{self.name}"))["servers"]

        await wait_until(gone, f"the end of the server of {self.name}")

    async def open(self, path: str = LESSON) -> None:
        """Open JupyterLab's page and in it a lesson, with a kernel."""
        began = time.monotonic()
        for asked in PAGE:
            await self.hub.fetch(f"user/{self.name}/{asked}")
        self.notebook = (await self.hub.ask(f"{self.place}/contents/{path}"))["content"]
        said = {"path": path, "type": "notebook", "name": path, "kernel": {"name": "python3"}}
        session = await self.hub.ask(f"{self.place}/sessions", "POST", said)
        self.kernel = session["kernel"]["id"]
        await self.connect()
        await self.run("pass")
        self.seconds["kernel"] = time.monotonic() - began

    async def connect(self) -> None:
        """Connect to the kernel, as a page does that was open while the hub was away."""
        address = f"{self.hub.address}/{self.place}/kernels/{self.kernel}/channels".replace("http", "ws", 1)
        asked = HTTPRequest(address, headers={"Authorization": f"token {self.hub.token}"})

        async def connected() -> WebSocketClientConnection:
            return await websocket_connect(asked, max_message_size=2**28)

        self.socket = await wait_until(connected, f"the kernel of {self.name}")

    async def _send(self, kind: str, content: dict[str, Any]) -> str:
        assert self.socket is not None
        header = {"msg_id": uuid4().hex, "msg_type": kind, "username": self.name, "session": self.name}
        header |= {"version": "5.3", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await self.socket.write_message(json.dumps(message | {"buffers": []}))
        return header["msg_id"]

    async def _heard(self) -> dict[str, Any]:
        assert self.socket is not None
        text = await asyncio.wait_for(self.socket.read_message(), PATIENCE)
        if not isinstance(text, str):
            raise ConnectionError(f"the kernel of {self.name} is gone")
        return json.loads(text)

    async def run(self, source: str) -> list[dict[str, Any]]:
        """Run one cell, and give its outputs."""
        mine = await self._send("execute_request", {"code": source, "silent": False, "store_history": True})
        outputs: list[dict[str, Any]] = []
        while True:
            message = await self._heard()
            kind, content = message["header"]["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != mine:
                continue
            if kind == "comm_open" and "position" in _shown(content).get("status", {}):
                self.comms.append(content["comm_id"])
            elif kind in ("stream", "execute_result", "display_data", "error"):
                outputs.append({"output_type": kind} | {k: v for k, v in content.items() if k != "transient"})
            elif kind == "status" and content["execution_state"] == "idle":
                return outputs

    async def run_all(self) -> None:
        """Run every cell of the lesson, put the outputs into the notebook, and save it."""
        began = time.monotonic()
        for cell in self.notebook["cells"]:
            if cell["cell_type"] == "code":
                cell["outputs"] = await self.run(cell["source"])
        self.seconds["lesson"] = time.monotonic() - began
        await self.save()

    async def save(self) -> None:
        """Save the notebook, as the page does by itself."""
        said = {"type": "notebook", "format": "json", "content": self.notebook}
        await self.hub.ask(f"{self.place}/contents/{LESSON}", "PUT", said)

    async def saved(self) -> list[Any]:
        """Return the cell contents of the file."""
        found = (await self.hub.ask(f"{self.place}/contents/{LESSON}"))["content"]
        return [(cell["source"], len(cell.get("outputs", []))) for cell in found["cells"]]

    def held(self) -> list[Any]:
        """Return the cell contents of the page."""
        return [(cell["source"], len(cell.get("outputs", []))) for cell in self.notebook["cells"]]

    async def press(self, what: str) -> dict[str, Any]:
        """Press a button of the stepper, and wait for what it shows then."""
        began = time.monotonic()
        content = {"comm_id": self.comms[-1], "data": {"method": "custom", "content": {"do": what}}}
        mine = await self._send("comm_msg", content)
        while True:
            message = await self._heard()
            if message["parent_header"].get("msg_id") == mine and message["header"]["msg_type"] == "comm_msg":
                shown = message["content"]["data"].get("content", {}).get("status", {})
                if "answered" in shown:
                    self.steps.append(time.monotonic() - began)
                    return shown

    async def step(self, presses: int = PRESSES, pause: float = 1.0) -> None:
        """Show a stepper, and press its buttons with some time to look between."""
        await self.run(STEPPER)
        await asyncio.sleep(random.uniform(0, pause))
        for press in range(presses):
            await self.press("back" if press % 4 == 3 else "step")
            await asyncio.sleep(random.uniform(0, 2 * pause))


def _shown(content: dict[str, Any]) -> dict[str, Any]:
    return content.get("data", {}).get("state", {}).get("shown") or {}


def memory(processes: Iterable[psutil.Process]) -> float:
    """What processes take in MiB; of memory that several share, each has its part."""
    return sum(process.memory_full_info().pss for process in processes) / 2**20


def computed(server: psutil.Process) -> float:
    """The seconds of one core that a server and its kernels have taken, with what ran before it served."""
    return sum(sum(process.cpu_times()[:4]) for process in (server, *_kernels(server)))


async def crash(students: list[Student]) -> dict[str, bool]:
    """Kill one kernel, the hub and one server, and say whether each time all is there again."""
    hub, first = students[0].hub, students[0]
    found = {}
    (kernel,) = _kernels(hub.servers()[first.name])
    kernel.kill()

    async def restarted() -> bool:
        left = _kernels(hub.servers()[first.name])
        return bool(left) and left[0].pid != kernel.pid

    await wait_until(restarted, "another kernel")
    await first.connect()
    runs = "6" in json.dumps(await first.run("print(2 * 3)"))
    found["a kernel is killed: it starts again, the notebook is as saved"] = (
        runs and await first.saved() == first.held()
    )

    before = {name: process.pid for name, process in hub.servers().items()}
    for student in students[1:]:
        await student.run("kept = 6 * 7")
    hub.kill()
    await hub.start()
    survived = before == {name: process.pid for name, process in hub.servers().items()}
    for student in students[1:]:
        await student.connect()
        survived &= "42" in json.dumps(await student.run("print(kept)"))
    for student in students:
        survived &= await student.saved() == student.held()
    found["the hub is killed: servers, variables and notebooks are as before"] = survived

    hub.servers()[first.name].kill()

    async def noticed() -> bool:
        return first.name not in hub.servers()

    await wait_until(noticed, "the end of a server")
    await wait_until(lambda: _entered(first), "the server again")
    found["a server is killed: it starts again, the notebook is as saved"] = await first.saved() == first.held()
    return found


async def _entered(student: Student) -> bool:
    """Whether a student gets a server; until the hub has noticed that the last one is gone, it refuses another."""
    await student.enter()
    await student.saved()
    return True


def _kernels(server: psutil.Process) -> list[psutil.Process]:
    """The running kernels of a server; one that was just killed is still listed, without its command."""
    found = []
    for child in server.children():
        try:
            if "ipykernel_launcher" in child.cmdline():
                found.append(child)
        except psutil.Error:
            continue
    return found


async def attend(hub: Hub, count: int, presses: int, pause: float) -> bool:
    """Let students attend, print the table, and give whether nothing was lost."""
    students = [Student(hub, f"student{number:03}") for number in range(count)]
    await together(student.enter() for student in students)
    idle = {name: memory([server]) for name, server in hub.servers().items()}
    await together(student.open() for student in students)
    servers = hub.servers()
    bare = [memory(_kernels(server)) for server in servers.values()]
    cores = [sum(map(computed, servers.values())) / count]
    await together(student.run_all() for student in students)
    cores.append(sum(map(computed, servers.values())) / count - sum(cores))
    await together(student.step(presses, pause) for student in students)
    cores.append((sum(map(computed, servers.values())) / count - sum(cores)) / presses)
    full = [memory([server]) for server in servers.values()]
    kernels = [memory(_kernels(server)) for server in servers.values()]
    (first, *_) = hub._processes
    shared = memory([psutil.Process(first.pid)])
    steps = sorted(took for student in students for took in student.steps)
    rows = [
        ("students at once", f"{count}", ""),
        ("the hub", "MiB", f"{shared:.0f}"),
        ("a server that nothing is open in", "MiB", _of(idle.values())),
        ("a server, the lesson open", "MiB", _of(full)),
        ("a kernel that nothing ran in", "MiB", _of(bare)),
        ("a kernel, the lesson run", "MiB", _of(kernels)),
        ("a student: server and kernel", "MiB", _of(a + b for a, b in zip(full, kernels, strict=True))),
        ("until the server is there", "s", _of((s.seconds["server"] for s in students), 1)),
        ("until the kernel answers", "s", _of((s.seconds["kernel"] for s in students), 1)),
        ("all cells of the lesson", "s", _of((s.seconds["lesson"] for s in students), 1)),
        (f"a step ({len(steps)} of them)", "s", _of(steps, 3)),
        ("95 of 100 steps take at most", "s", f"{steps[int(0.95 * (len(steps) - 1))]:.3f}"),
        ("of one core, until the kernel answers", "s", f"{cores[0]:.1f}"),
        ("of one core, all cells of the lesson", "s", f"{cores[1]:.1f}"),
        ("of one core, a step", "s", f"{cores[2]:.3f}"),
    ]
    print_rows(rows)
    kept = await crash(students)
    print_rows([(what, "", "yes" if holds else "NO") for what, holds in kept.items()])
    return all(kept.values())


def print_rows(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print rows of the table: what was measured, its unit, and the median with the least and the most."""
    for what, unit, value in rows:
        print(f"{what:<68} {unit:>4} {value}", flush=True)


def _of(values: Iterable[float], digits: int = 0) -> str:
    listed = sorted(values)
    return f"{statistics.median(listed):.{digits}f} ({listed[0]:.{digits}f} to {listed[-1]:.{digits}f})"


async def together(tasks: Iterable[Awaitable[None]]) -> None:
    """Let all students do the same at once."""
    await asyncio.gather(*tasks)


async def main(words: list[str]) -> int:
    """Try a class, and print a table; 1 if anything was lost."""
    parser = argparse.ArgumentParser(description="Try a class on a JupyterHub of this machine.")
    parser.add_argument("--students", type=int, default=20, metavar="N", help="how many at once (20)")
    parser.add_argument("--presses", type=int, default=PRESSES, metavar="N", help=f"buttons of each ({PRESSES})")
    parser.add_argument("--pause", type=float, default=1.0, metavar="S", help="mean seconds between two of them (1)")
    asked = parser.parse_args(words)
    AsyncHTTPClient.configure(None, max_clients=1000, max_body_size=2**28)
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(Path(folder).resolve())
        try:
            await hub.start()
            kept = await attend(hub, max(asked.students, 2), asked.presses, asked.pause)
        except Exception:
            print(hub.log()[-8000:], file=sys.stderr)
            raise
        finally:
            hub.close()
    return 0 if kept else 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    sys.exit(asyncio.run(main(sys.argv[1:])))
