"""Use catalogs: views that follow their source, prefixes, aliases, methods of an object."""

from typing import Annotated

from toolkit import Catalog, tool


class Notebook:
    """Notes, kept in memory."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    @tool
    def write(self, text: Annotated[str, "The note."]) -> int:
        """Keep a note, and return its number."""
        self.notes.append(text)
        return len(self.notes)

    @tool(read_only=True, aliases=["find"])
    def search(self, word: Annotated[str, "As it is written in the note."]) -> list[str]:
        """Find the notes that hold a word."""
        return [note for note in self.notes if word in note]


notes = Catalog().add(Notebook())


def main() -> None:
    harmless = notes.filtered(lambda tool: tool.facts.read_only)
    mine = notes.prefixed("my_")
    print("all:", notes.names(), "| read-only:", harmless.names(), "| prefixed:", mine.names())
    print("an alias answers but is not listed:", mine["my_find"].name)

    @notes.tool(read_only=True)
    def count_words(text: Annotated[str, "Words are what stands between blanks."]) -> int:
        """Count the words of a text."""
        return len(text.split())

    print("views follow:", harmless.names(), mine.names())


if __name__ == "__main__":
    main()
