"""Why goals were missed, in words, by the text of the goal; the page shows those of goals that are missed at present."""

REASONS: dict[str, str] = {}
