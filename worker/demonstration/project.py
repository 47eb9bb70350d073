"""The demonstration's project: three files, one fault."""

from pathlib import Path

FILES = {
    "README.md": "# Prices\n\n`total(price, discount)` takes the discount off the price; a discount of 0.2 is 20 %.\n",
    "prices.py": "def total(price: float, discount: float) -> float:\n    return price + price * discount\n",
    "test_prices.py": """import time
import unittest

from prices import total


class Prices(unittest.TestCase):
    def test_a_slow_one_first(self) -> None:
        time.sleep(4)

    def test_the_discount_is_taken_off(self) -> None:
        self.assertEqual(total(100, 0.2), 80)


if __name__ == "__main__":
    unittest.main()
""",
}


def make_project(folder: Path) -> None:
    """Write the files into a new folder."""
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
