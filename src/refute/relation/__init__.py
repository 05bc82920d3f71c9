"""Tables as integers: typed columns become equality codes and order-preserving ranks, computed once and shared."""

from refute.relation.encoded import Encoded
from refute.relation.files import read_local
from refute.relation.relation import Relation
from refute.relation.types import ColumnType, Family

__all__ = ["ColumnType", "Encoded", "Family", "Relation", "read_local"]
