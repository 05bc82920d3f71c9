"""Files read by another process, for formats whose reader a damaged file can crash."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

from refute.faults import unreadable

# Says why in one line where Arrow says it, and sends the table where there is one.
_READ_ORC = """
import sys
import pyarrow as pa
from pyarrow import orc
try:
    table = orc.read_table(sys.argv[1])
except (pa.ArrowException, OSError) as error:
    sys.exit(str(error))
with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
    stream.write_table(table)
"""


def read_orc(file: Path) -> pa.Table:
    """The table in an ORC file; raises DataError where the file is damaged, even where that crashes the reader."""
    # -P: nothing that lies in the working directory is imported.
    command = [sys.executable, "-P", "-c", _READ_ORC, str(file.absolute())]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as child:
            assert child.stdout is not None
            try:
                with pa.ipc.open_stream(child.stdout) as stream:
                    table = stream.read_all()
            except pa.ArrowInvalid:  # the stream ends early: what the child says is the reason
                table = None
        if child.returncode == 0 and table is not None:
            return table
        said.seek(0)
        words = said.read().decode("utf-8", errors="replace").strip() or "there is no more to say"
    if child.returncode < 0:
        raise unreadable(str(file), "The file is damaged (Arrow's reader of ORC crashed on it).")
    raise pa.ArrowInvalid(words.splitlines()[-1])
