"""Plain values as YAML text, which is read as what it was."""

from __future__ import annotations

import io
import re

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

_BREAKS = re.compile("[\x85\u2028\u2029]")


class _Representer(SafeRepresenter):
    """Ruamel's own, but for texts with line breaks of Unicode, which it writes so that they are read as others."""

    def represent_str(self, data: str) -> ScalarNode:
        style = '"' if _BREAKS.search(data) else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Representer.add_representer(str, _Representer.represent_str)


class _PlainYaml(YAML):
    """Ruamel's own, which does not search its folder for extensions: that takes longer than a rule takes to write."""

    def official_plug_ins(self) -> list[str]:
        return []


def yaml_text(plain: object) -> str:
    """Plain mappings and lists as YAML, one value a line, keys in their order."""
    yaml = _PlainYaml(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 4096
    stream = io.StringIO()
    yaml.dump(plain, stream)
    return stream.getvalue()
