"""How much work one text may make, in units instead of seconds: the same text always ends at the same place."""

LONGEST = 10_000
"""Characters that are read by the grammar; of more only the lexer makes out commands."""

MOST, MOST_TOKENS = 8_000, 2_500
"""Units, and words and signs, for a text of that length; longer ones may take more in proportion."""

COMMAND, WORD, PIECE, REDIRECTION, UPSTREAM, TOKEN, READING = 50, 2, 3, 4, 1, 1, 10
"""What each of these costs: about two microseconds a unit."""


class Work:
    """What is spent on one text, and whether more may be."""

    def __init__(self, size: int) -> None:
        self.most = MOST * max(size, LONGEST) // LONGEST
        self.spent = 0

    def spend(self, units: int) -> bool:
        """Takes units; whether there were so many left."""
        self.spent += units
        return self.spent <= self.most

    @property
    def is_done(self) -> bool:
        """Whether no more may be done: what is left over was not looked at, so the text is refused."""
        return self.spent > self.most
