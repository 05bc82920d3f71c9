"""Files that appear whole under their name or not at all, and leave what was there in place until then.

A file is written beside its target, brought to the disk, and renamed. A process that is killed meanwhile leaves at most
a hidden file or folder that ends in `.part`; the folder goes when its target is written the next time.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from refute.faults import unwritable

_LONGEST = 60  # letters of a name that its draft shows; file systems take 255 bytes
_DRAFT, _FORMER = "new", "old"  # in a hidden folder beside the target
_LINKS = 40  # that are followed, as the system does
_DEVICES = ("/dev/", "/proc/")
_HERE, _EXCHANGE = -100, 2  # of Linux: paths are as the process has them, and both names stay


def write_text(path: str | os.PathLike[str], text: str, *, mode: int | None = None) -> None:
    """Put a text into a file, whole or not at all. `mode` are its permissions; else those it had, or the usual ones."""
    with replacing(path, mode=mode) as draft, open(draft, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[Path]:
    """A file to write, which takes the place of `path` when the block ends well; raises OptionError when it cannot.

    Pipes and devices such as `/dev/stdout` are given as they are: what goes there cannot be taken back.
    """
    with _explained(path):
        target = _destination(Path(path))
        if target is None:
            yield Path(path)
            return
        draft = _beside(target)
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            _take_over(target, draft, mode)
            yield draft
            _to_disk(draft)
            os.replace(draft, target)
            _to_disk(target.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to make, which takes the place of `path` when the block ends well; raises OptionError when it cannot.

    A link to a folder is left as it is: what it leads to is replaced. Folders above it are made.
    """
    with _explained(path):
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        workplace, lock = _workplace(target)
        draft, former = workplace / _DRAFT, workplace / _FORMER
        try:
            yield draft
            for file in draft.rglob("*"):
                _to_disk(file)
            if os.path.lexists(target) and not _exchanged(draft, target):
                os.rename(target, former)
            if os.path.lexists(former) or not os.path.lexists(target):
                try:
                    os.rename(draft, target)
                except OSError:
                    if os.path.lexists(former):
                        os.rename(former, target)
                    raise
            _to_disk(target.parent)
        finally:
            shutil.rmtree(workplace, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _workplace(target: Path) -> tuple[Path, int | None]:
    """A hidden folder to work in, and the handle by which others leave it alone."""
    while True:
        workplace = _beside(target)
        workplace.mkdir()
        lock = _locked(workplace, wait=True)
        if workplace.exists():
            return workplace, lock
        if lock is not None:  # one that swept was faster, as nobody had the handle yet
            os.close(lock)


def _sweep(target: Path) -> None:
    """Remove what writers of a folder left that were killed; a folder that one of them had put aside stays as long as
    nothing is in its place."""
    for left in target.parent.glob(f".{glob.escape(target.name[:_LONGEST])}-*.part"):
        if left.is_symlink() or not left.is_dir() or (lock := _locked(left)) is None:
            continue
        with contextlib.suppress(FileNotFoundError):  # its writer has just finished
            names = set(os.listdir(left))
            if names <= {_DRAFT, _FORMER} and (_FORMER not in names or os.path.lexists(target)):
                shutil.rmtree(left, ignore_errors=True)
        os.close(lock)


def _locked(folder: Path, *, wait: bool = False) -> int | None:
    """A handle by which others see, until it is closed or the process ends, that a folder is in use; None where another
    uses it, or the system has no such handles."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@contextlib.contextmanager
def _explained(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(os.fspath(path), error.strerror or str(error)) from error
    except ValueError as error:
        if "\0" in str(path):
            raise unwritable(str(path), "A path cannot contain a zero byte.") from error
        raise


def _destination(path: Path) -> Path | None:
    """The regular file that a path names, or will name, links followed; None for a pipe or a device."""
    target = path.absolute()
    for _ in range(_LINKS):
        if str(target).startswith(_DEVICES):
            return None
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
    try:
        kind = target.stat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(kind):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    return target if stat.S_ISREG(kind) else None


def _beside(target: Path) -> Path:
    """A name in the same folder, hence on the same disk, that nobody has."""
    return target.with_name(f".{target.name[:_LONGEST]}-{secrets.token_hex(8)}.part")


def _take_over(target: Path, draft: Path, mode: int | None) -> None:
    """Give the draft the owner and permissions that the file has now."""
    if mode is not None:
        os.chmod(draft, mode)
    elif target.exists():
        now = target.stat()
        if (now.st_uid, now.st_gid) != (draft.stat().st_uid, draft.stat().st_gid):
            with contextlib.suppress(PermissionError):
                os.chown(draft, now.st_uid, now.st_gid)
        os.chmod(draft, stat.S_IMODE(now.st_mode))


def _exchanged(draft: Path, target: Path) -> bool:
    """Give each of two folders the name of the other at once, so a whole one is there at any moment; False where the
    system cannot."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    found: int = call(_HERE, os.fsencode(draft), _HERE, os.fsencode(target), _EXCHANGE)
    return found == 0


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # not every file system brings names to the disk
            raise
    finally:
        os.close(handle)
