"""The folder and the files under the database: permissions, kind of file system, free space. Knows no SQL."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")

NETWORK_TYPES = frozenset({
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
    "nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "virtiofs",
})  # fmt: skip
"""Write-ahead logs need memory shared between all users of the file, and honest locks; these give neither."""

NETWORK_FUSE = frozenset({"ceph", "davfs", "glusterfs", "rclone", "s3fs", "smbnetfs", "sshfs"})


def network_type(path: Path, mounts: str) -> str | None:
    """Name the network file system that `path` lies on; None if it is a local one. `mounts` is the mount table."""
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].encode().decode("unicode_escape")
        if len(point) >= len(best) and path.is_relative_to(point):
            best, kind = point, fields[2]
    base, _, sub = kind.partition(".")
    is_network = kind in NETWORK_TYPES or (base == "fuse" and sub in NETWORK_FUSE)
    return kind if is_network else None


def mount_table() -> str:
    """Read the mount table; empty where the system has none to read."""
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


@contextmanager
def private_files() -> Iterator[None]:
    """Let every file made meanwhile be the owner's alone."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def is_open_to_others(path: Path) -> bool:
    """Say whether anybody but the owner may read or write the file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def sync_folder(folder: Path) -> None:
    """Make the names of new files durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_bytes(folder: Path) -> int:
    """Give the bytes an ordinary user may still write there."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize
