"""The one result type: rows of numbers, the settings that made them, and findings in words.

Every number of the library is a `Row`: an analysis, the keys that identify the number completely, the statistic, its
estimate, its interval and what was resampled for it. Rows hold full precision; rounding happens only on display.
"""

from measurand.keys import COLUMNS, KEYS
from measurand.result.digits import show_interval, show_number
from measurand.result.rows import VERDICTS, Finding, Key, MeasurandError, Row, Verdict
from measurand.result.table import SCHEMA, Result

__all__ = [
    "COLUMNS",
    "KEYS",
    "SCHEMA",
    "VERDICTS",
    "Finding",
    "Key",
    "MeasurandError",
    "Result",
    "Row",
    "Verdict",
    "show_interval",
    "show_number",
]
