"""The warning category of everything odd but usable about votes."""


class VotesWarning(UserWarning):
    """Something about the votes deserves a look, and the message says what was done about it."""
