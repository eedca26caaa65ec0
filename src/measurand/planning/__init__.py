"""What a panel would take: layouts, their costs and precision, and the next sample drawn."""

from measurand.planning.drawing import design_of, draw
from measurand.planning.facets import facets
from measurand.planning.plan import plan
from measurand.planning.power import power
from measurand.planning.sheets import collect, write_sample

__all__ = ["collect", "design_of", "draw", "facets", "plan", "power", "write_sample"]
