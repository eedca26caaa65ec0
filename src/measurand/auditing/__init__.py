"""The panel itself: one question per file, each from ratings to rows."""

from measurand.auditing.agreement import agreement
from measurand.auditing.agreement_pairs import agreement_pairs
from measurand.auditing.components import components
from measurand.auditing.copies import copies
from measurand.auditing.design import design
from measurand.auditing.generalizability import decision, generalizability
from measurand.auditing.leave_one_out import leave_one_block_out, leave_one_rater_out
from measurand.auditing.length import length
from measurand.auditing.missingness import missingness
from measurand.auditing.pairs import pairs
from measurand.auditing.panel import audit
from measurand.auditing.ranks import ranks
from measurand.auditing.raters import raters
from measurand.auditing.style import style
from measurand.auditing.system_effect import system_test
from measurand.auditing.variance import anova

__all__ = [
    "agreement",
    "agreement_pairs",
    "anova",
    "audit",
    "components",
    "copies",
    "decision",
    "design",
    "generalizability",
    "leave_one_block_out",
    "leave_one_rater_out",
    "length",
    "missingness",
    "pairs",
    "ranks",
    "raters",
    "style",
    "system_test",
]
