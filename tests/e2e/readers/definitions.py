"""What readers by published definitions have in common."""

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet


def check(message):
    """There is nothing that the definitions do not have."""
    assert not len(UnknownFieldSet(message)), message
    for _, value in message.ListFields():
        for part in value if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) else [value]:
            if isinstance(part, Message):
                check(part)
