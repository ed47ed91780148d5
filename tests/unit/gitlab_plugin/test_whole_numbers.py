"""Numbers arrive as doubles; GitLab's addresses and bodies want whole ones."""

from gitlab_plugin.values import from_struct, to_struct
from google.protobuf.struct_pb2 import Struct


def test_whole_numbers_are_integers_again_at_any_depth() -> None:
    wire = Struct()
    wire.update({"projectId": 7, "nested": {"ids": [1, 2.5]}})
    values = from_struct(wire).values
    assert values == {"projectId": 7, "nested": {"ids": [1, 2.5]}}
    assert [type(number) for number in (values["projectId"], *values["nested"]["ids"])] == [int, int, float]
    assert to_struct(from_struct(wire)) == wire
