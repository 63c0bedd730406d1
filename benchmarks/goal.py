"""A goal: a value that a measurement should not exceed, or should at least reach."""

from dataclasses import dataclass

from benchmarks.results import Row
from benchmarks.tables import commits


@dataclass(frozen=True)
class Goal:
    """A goal, and the value to compare with its limit: at most `limit`, or at least."""

    text: str
    command: str
    limit: float
    value: float | None = None
    figure: str = ""
    """The value as text."""
    rows: tuple[Row, ...] = ()
    lacks: str = ""
    """What has not been measured yet."""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        if self.lacks:
            return f"incomplete: {self.lacks}"
        if self.value >= self.limit if self.at_least else self.value <= self.limit:
            return "met"
        if not self.limit:
            return "missed"
        return f"missed: {self.value / self.limit:.2f} times the goal"

    def line(self) -> list[str]:
        """The row of the goal in the table."""
        verdict = self.verdict if self.value is None else f"**{self.verdict}**"
        state = commits(self.rows) if self.rows else ""
        return [self.text, f"`{self.command}`", self.figure, verdict, state]
