"""A writer of rules in a process of its own: file, root, first number, how many; ends by itself or is killed."""

import sys
from pathlib import Path

from activities.settings.append import append_rules

if __name__ == "__main__":
    file, root, first, count = sys.argv[1:]
    for number in range(int(first), int(first) + int(count)):
        append_rules(Path(file), [f"Bash(rule{number})"], Path(root))
