"""Register a codec for a type of your own, and make a tool from a hand-written schema."""

from dataclasses import dataclass

from toolkit import BadArgs, Tool, register_codec


@dataclass(frozen=True)
class Color:
    red: int
    green: int
    blue: int

    @classmethod
    def parse(cls, text: str) -> "Color":
        return cls(*bytes.fromhex(text.removeprefix("#")))

    def hex(self) -> str:
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"


register_codec(
    Color,
    schema={"type": "string", "pattern": "^#[0-9a-f]{6}$", "examples": ["#ff8800"]},
    decode=Color.parse,
    encode=Color.hex,
)


def paint(wall: str, color: Color = Color(255, 255, 255)) -> str:
    """
    Paint a wall.

    Args:
        wall: Which one: north, east, south or west.
        color: Red, green and blue, two hexadecimal digits each.
    """
    return f"{wall} is now {color}"


tool = Tool.of(paint)
print(tool.schema["properties"]["color"])
print(paint(**tool.check({"wall": "north", "color": "#ff8800"})))
try:
    tool.check({"wall": "north", "color": "orange"})
except BadArgs as error:
    print("Refused:", error)

echo = Tool.from_schema(
    "echo",
    "Say something back.",
    {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 80, "description": "What to say."}},
        "required": ["text"],
    },
    lambda arguments: arguments["text"],
)
print(echo.function(echo.check({"text": "hello"})))
