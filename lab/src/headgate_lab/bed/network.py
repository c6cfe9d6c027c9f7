"""The bed: a client, a wire with distance, and many servers, each side in its own namespace.

    client ns            router ns                              server ns
    crawler ── veth ──── forwards ── TUN ── emulator ── TUN ──── one address per site
            ▲
            └ the meter counts here, frame by frame

Everything is named after this process and taken down when the block is left, whatever happened in
it: deleting a namespace takes its devices along, and the C programs end when their standard input
closes. What a killed run left is removed by the next. The machine's own network is not touched.

All parts, the client included, run at real-time priority (chrt): a packet that waits for the
processor looks like one that waited on the line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from headgate_lab.bed.programs import compiled, compiler

__all__ = ["Bed", "LoopbackBed", "ServerPath", "loopback_address", "missing", "server_address"]

_CLIENT_ADDRESS = "10.77.0.2"
_ROUTER_ADDRESS = "10.77.0.1"
_SERVER_NETWORK = "10.78.0.0/16"
_CLIENT_DEVICE = "line0"
_FIRST = ("chrt", "--rr", "5")


@dataclass(frozen=True, slots=True)
class ServerPath:
    """The way to one server."""

    address: str
    rtt_seconds: float = 0.0
    bytes_per_second: float = 0.0
    """0: as fast as the machine."""
    loss: float = 0.0


def server_address(number: int) -> str:
    """The address of site ``number``, counted from 0."""
    return f"10.78.{number // 250}.{number % 250 + 1}"


def loopback_address(number: int) -> str:
    """The same on loopback; the client is 127.0.0.1 there."""
    return f"127.0.{number // 250 + 1}.{number % 250 + 1}"


def missing() -> str | None:
    """Why the bed cannot be built here; None when it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for command, package in (("ip", "iproute2"), ("ethtool", "ethtool"), ("chrt", "util-linux")):
        if shutil.which(command) is None:
            return f"the command {command} is missing (apt-get install {package})"
    if compiler() is None:
        return "a C compiler is missing (apt-get install gcc libc6-dev)"
    if not Path("/dev/net/tun").exists():
        return "the kernel has no TUN device"
    probe = f"hg-{os.getpid()}-probe"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode:
        return "network namespaces are not allowed here"
    subprocess.run(["ip", "netns", "del", probe], check=True)
    return None


class Bed:
    """Use as ``with Bed(paths) as bed``; commands then run in ``bed.client`` or ``bed.server``."""

    _metered = _CLIENT_DEVICE

    def __init__(self, paths: list[ServerPath]) -> None:
        self._paths = paths
        mark = os.getpid()
        self._client, self._router, self._server = (f"hg-{mark}-{end}" for end in "crs")
        self._folder = tempfile.TemporaryDirectory(prefix="headgate-bed-")
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Bed:
        try:
            self._build()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self._processes):
            _end(process)
        for namespace in (self._client, self._router, self._server):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)
        self._folder.cleanup()

    @property
    def folder(self) -> Path:
        """For files of this run; deleted with the bed."""
        return Path(self._folder.name)

    def client(self, *command: str | Path) -> list[str]:
        """The command, as run on the client's side."""
        return [*_FIRST, "ip", "netns", "exec", self._client, *map(str, command)]

    def set_line(self, bytes_per_second: float, queue_bytes: int) -> None:
        """Set the rate of the client's line and the size of its queue: a drop-tail bottleneck that
        all servers share."""
        rate = f"{bytes_per_second * 8:.0f}bit"
        shaped = ["tbf", "rate", rate, "burst", "2000", "limit", str(queue_bytes)]
        tc = ["ip", "netns", "exec", self._router, "tc"]
        _run([*tc, "qdisc", "replace", "dev", "veth0", "root", *shaped])

    def start_server(self, *command: str | Path) -> subprocess.Popen[bytes]:
        """Start a command on the servers' side; it prints ``ready`` on its first line."""
        return self._start(["ip", "netns", "exec", self._server, *map(str, command)])

    def stop_meter(self, meter: subprocess.Popen[bytes]) -> None:
        """End the count; raises when it is not complete."""
        _, said = meter.communicate()
        if int(said.split()[-1]):
            raise RuntimeError("the meter lost packets: the machine is too busy to measure on")

    def start_meter(self, records: IO[bytes]) -> subprocess.Popen[bytes]:
        """Count at the client's interface into ``records`` until `stop_meter`."""
        return self._record(self.client(compiled("meter"), self._metered), records)

    def start_watch(self, records: IO[bytes]) -> subprocess.Popen[bytes]:
        """Record into ``records`` when the machine itself stalled."""
        return self._record([str(compiled("watch"))], records)

    def _record(self, command: list[str], records: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program that writes records and prints ``ready``."""
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=records, stderr=subprocess.PIPE
        )
        self._processes.append(process)
        assert process.stderr is not None
        assert process.stderr.readline() == b"ready\n"
        return process

    def _build(self) -> None:
        _sweep()
        for namespace in (self._client, self._router, self._server):
            _ip("netns", "add", namespace)
            _ip("-n", namespace, "link", "set", "lo", "up")
        _ip(
            *("link", "add", _CLIENT_DEVICE, "netns", self._client, "type", "veth"),
            *("peer", "name", "veth0", "netns", self._router),
        )
        self._address(self._client, _CLIENT_DEVICE, f"{_CLIENT_ADDRESS}/30")
        self._address(self._router, "veth0", f"{_ROUTER_ADDRESS}/30")
        _ip("-n", self._client, "route", "add", "default", "via", _ROUTER_ADDRESS)
        self._start_emulator()
        self._address(self._router, "near0", None)
        self._address(self._server, "far0", None)
        _ip("-n", self._router, "route", "add", _SERVER_NETWORK, "dev", "near0")
        _ip("-n", self._server, "route", "add", "default", "dev", "far0")
        for path in self._paths:
            _ip("-n", self._server, "address", "add", f"{path.address}/32", "dev", "lo")
        forwards = "echo 1 > /proc/sys/net/ipv4/ip_forward"
        _run(["ip", "netns", "exec", self._router, "sh", "-c", forwards])

    def _address(self, namespace: str, device: str, address: str | None) -> None:
        if address is not None:
            _ip("-n", namespace, "address", "add", address, "dev", device)
            _switch_off_offloads(namespace, device)
        _ip("-n", namespace, "link", "set", device, "txqueuelen", "10000", "up")

    def _start_emulator(self) -> None:
        table = self.folder / "paths"
        table.write_text(
            "".join(
                f"{path.address} {path.rtt_seconds} {path.bytes_per_second} {path.loss}\n"
                for path in self._paths
            )
        )
        ends = (self._router, "near0", self._server, "far0")
        self._start([str(compiled("emulator")), *ends, str(table)])

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*_FIRST, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._processes.append(process)
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"did not start: {' '.join(command)}")
        return process


class LoopbackBed(Bed):
    """Client and servers in one namespace, on its loopback: no distance, packets of 64 KB."""

    _metered = "lo"

    def __init__(self) -> None:
        super().__init__([])
        self._server = self._client

    def _build(self) -> None:
        _sweep()
        _ip("netns", "add", self._client)
        _ip("-n", self._client, "link", "set", "lo", "up")
        _switch_off_offloads(self._client, "lo")


def _switch_off_offloads(namespace: str, device: str) -> None:
    """With segmentation offload one "packet" of the meter would be many of the line."""
    offloads = ["ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off"]
    _run(["ip", "netns", "exec", namespace, *offloads])


def _sweep() -> None:
    """Delete the namespaces of beds whose process is gone."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    for name in (line.split()[0] for line in listed.stdout.splitlines() if line.strip()):
        mark = name.split("-")
        if mark[0] == "hg" and len(mark) == 3 and not Path("/proc", mark[1]).exists():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None and not process.stdin.closed:
        process.stdin.close()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _ip(*arguments: str) -> None:
    _run(["ip", *arguments])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
