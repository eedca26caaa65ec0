"""Tables and scales: from files and frames to checked ratings and panels."""

from measurand.data.outputs import read_outputs
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings, read_ratings
from measurand.data.scale import Scale, parse_scales

__all__ = ["Panel", "Ratings", "Scale", "panels", "parse_scales", "read_outputs", "read_ratings"]
