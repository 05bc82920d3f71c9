"""Tables as integers: typed columns become equality codes and order-preserving ranks, computed once and shared."""

from refute.relation.encode.encoded import Encoded
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.keys import Keys
from refute.relation.read.files import read_local
from refute.relation.relation import Relation
from refute.relation.types import ColumnType, Family

__all__ = ["ColumnType", "Encoded", "Encoding", "Family", "Keys", "Relation", "read_local"]
