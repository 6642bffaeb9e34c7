"""Ask for an approval in a terminal."""
