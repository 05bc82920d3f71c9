"""Which engine answers for a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.placing import answers_on_spark
from refute.errors import OptionError, whole_number
from refute.faults import needing, repeated_key_column, unknown_choice, wrong_value
from refute.language.arithmetic import refuse_formulas
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.relation.read.csv.options import CsvOptions
from refute.relation.read.files import read_local
from refute.relation.read.schema import Schema

if TYPE_CHECKING:
    from refute.detect.engine import Engine
    from refute.language.rulebook import Rule

ENGINES = ("auto", "spark", "local")
IN_PROCESS = ", or pass engine='local' to work in this process"


def engine_for(
    table: Any,
    *,
    key: Sequence[str] = (),
    engine: str | None = "auto",
    method: str = "auto",
    threads: int | None = None,
    schema: Any = None,
    header: bool = True,
    csv: Any = None,
    driver_bytes: int | None = None,
    persist: bool = False,
    reads: Sequence[Rule] | None = None,
) -> Engine:
    """The engine for a table: Spark for its DataFrames and for large files, else this process, unless one is named.

    With `persist` Spark keeps the table until the engine is closed; where only the rules `reads` will be asked about,
    their columns.
    """
    chosen = MethodName.of(method)
    check_engine(engine)
    threads = None if threads is None else whole_number("threads", threads)
    if threads is not None and threads < 1:
        raise wrong_value("threads", "at least 1", threads)
    check_driver_bytes(driver_bytes)
    names = as_key(key)
    given, written = given_schema(table, schema, header), given_csv(table, csv)
    if is_monitor(table):
        return _of_monitor(table, names, engine, chosen)
    if on_spark(table, engine, wanted=persist or driver_bytes is not None):
        with needing("Spark", "spark", IN_PROCESS):
            from refute.spark import SparkBudget, SparkEngine

        held = spark_table(table)
        budget = SparkBudget() if driver_bytes is None else SparkBudget(driver_bytes=driver_bytes)
        reading: dict[str, Any] = {"schema": given, "csv": written, "persist": persist, "reads": reads}
        return SparkEngine(held, key=names, method=chosen, budget=budget, **reading)
    from refute.detect.local import LocalEngine

    data = read_local(table, given, written) if is_path(table) else table
    found = LocalEngine(data, key=names, method=chosen, threads=threads)
    refuse_formulas(found.columns)
    return found


def _of_monitor(monitor: Any, key: Sequence[str], engine: str | None, method: MethodName) -> Engine:
    """The engine for the rows of a monitor, whose key is its own."""
    if engine == "spark":
        raise OptionError(
            "A monitor keeps its rows in this process, so Spark cannot answer for them. Leave engine= out.",
            option="engine",
            value=engine,
        )
    if method is not MethodName.AUTO:
        raise OptionError(
            "A monitor answers from what it keeps, so a method cannot be chosen. Leave method= out.",
            option="method",
            value=method.value,
        )
    if tuple(key) not in ((), monitor.key):
        raise OptionError(
            f"The key of the monitor is {', '.join(monitor.key) or 'none'}. Leave key= out.",
            option="key",
            value=tuple(key),
            key=monitor.key,
        )
    answering: Engine = monitor.live_engine()
    return answering


@contextmanager
def opened_engine(table: Any, **options: Any) -> Iterator[Engine]:
    """The engine for a table while a block runs; what it keeps of the table is released in the end."""
    engine = engine_for(table, **options)
    try:
        yield engine
    finally:
        engine.close()


def check_engine(engine: str | None) -> None:
    """Raise OptionError for anything but the name of an engine; None stands for auto."""
    if engine is not None and engine not in ENGINES:
        raise unknown_choice("engine", engine, ENGINES)


def on_spark(table: Any, engine: str | None, *, wanted: bool = False) -> bool:
    """Whether Spark answers for a table; `wanted` says that an option was given that means nothing elsewhere.

    Where the choice is left to us: for DataFrames, large files, and whatever is not on this machine.
    """
    if is_spark(table) or engine == "spark":
        return True
    return engine != "local" and is_path(table) and (wanted or answers_on_spark(table))


def spark_table(table: Any) -> Any:
    """The table for Spark: a path or DataFrame as it is, a table in memory as a DataFrame."""
    if is_spark(table) or is_path(table):
        return table
    with needing("Spark", "spark", IN_PROCESS):
        from refute.spark import frame_of

    return frame_of(Relation.of(table).arrow)


def given_schema(table: Any, schema: Any, header: bool) -> Schema | None:
    """The schema to read files by; raises OptionError for tables that are not files."""
    if not is_path(table) and (schema is not None or not header):
        raise OptionError(
            "schema= and header= apply to files only. Leave them out.", option="header" if schema is None else "schema"
        )
    return Schema.of(schema, header=header)


def given_csv(table: Any, csv: Any) -> CsvOptions:
    """How CSV files are written; raises OptionError for tables that are not files."""
    if csv is not None and not is_path(table):
        raise OptionError("csv= applies to files only. Leave it out.", option="csv")
    return CsvOptions.of(csv)


def check_driver_bytes(number: int | None) -> None:
    """Raise OptionError for anything but a number of bytes."""
    if number is not None and whole_number("driver_bytes", number) < 0:
        raise wrong_value("driver_bytes", "at least 0", number, " With 0, no rows come to this process.")


def as_key(key: str | Iterable[str] | None) -> tuple[str, ...]:
    """The key columns as a tuple; one name may stand alone. Raises an error for anything but names, each once."""
    if key is None or isinstance(key, str):
        return () if key is None else (key,)
    names = tuple(key) if isinstance(key, Iterable) else (key,)
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise wrong_value("key", "a column name or a list of them", name)
        if name in names[:place]:
            raise repeated_key_column(name)
    return names


def is_spark(table: Any) -> bool:
    """Whether it is a Spark DataFrame, without importing Spark."""
    return any(cls.__module__.startswith("pyspark.") for cls in type(table).__mro__)


def is_monitor(table: Any) -> bool:
    """Whether it is a Monitor, by its type: tables have whatever attributes their columns are named."""
    return hasattr(type(table), "live_engine")


def is_path(table: Any) -> bool:
    """Whether it names a file, a folder, a glob or a catalog table."""
    return isinstance(table, str | Path)


def name_of(table: Any) -> str:
    """What a report calls the table."""
    if is_path(table):
        return str(table)
    kind: type[object] = type(table)
    in_memory = kind.__module__.partition(".")[0] in ("pyarrow", "pandas", "polars")
    return "Table in memory" if in_memory else kind.__name__
