"""A writer of rules in a process of its own: file, root, first number, how many; ends by itself or is killed."""

import sys
from pathlib import Path

from activities.settings.editing import append_items

if __name__ == "__main__":
    file, root, first, count = sys.argv[1:]
    for number in range(int(first), int(first) + int(count)):
        append_items(Path(file), "permissions.allow", [f"Bash(rule{number})"], Path(root))
