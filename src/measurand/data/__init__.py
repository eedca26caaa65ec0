"""Tables and scales: from files and frames to checked ratings, panels and answers."""

from measurand.data.answers import Answers, read_answers
from measurand.data.items import read_items, read_systems
from measurand.data.outputs import Outputs, read_outputs
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings, read_ratings
from measurand.data.scale import Scale, parse_scales
from measurand.data.vectors import Vectors, read_vectors

__all__ = [
    "Answers",
    "Outputs",
    "Panel",
    "Ratings",
    "Scale",
    "Vectors",
    "panels",
    "parse_scales",
    "read_answers",
    "read_items",
    "read_outputs",
    "read_ratings",
    "read_systems",
    "read_vectors",
]
