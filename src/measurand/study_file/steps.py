"""The tables of the steps that follow the asking: [score], [audit], [report]."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from measurand.study_file.cells import STRICT, Name

# The choices of the steps, named again so that reading a file loads no statistics; a test holds the two together.
Statistic = Literal[
    "kappa_quadratic",
    "kappa_linear",
    "kappa_unweighted",
    "spearman",
    "mean_absolute_error",
    "average_precision",
    "auroc",
]
Map = Literal["rank", "none"]
Anchor = Literal["pairwise", "leave_one_out", "noise_ceiling", "rater_calibrated", "leave_one_out_calibrated"]
Baseline = Literal["all_low", "all_high", "uniform_random", "criterion_mean", "marginal", "shuffled"]
Drawn = Literal["item", "group", "rater", "item+rater", "group+rater"]
Object = Literal["ratings", "agreement"]
Share = Annotated[float, Field(gt=0, lt=1)]

#: Items that the page shows with their pictures where the file does not say how many.
EXAMPLES: Final = 6


def _once(values: Any, what: str) -> Any:
    if isinstance(values, list) and (again := [one for i, one in enumerate(values) if one in values[:i]]):
        raise ValueError(f"has {again[0]!r} twice in {what}; once is enough")
    return values


class _Step(BaseModel):
    """A table of a step."""

    model_config = STRICT


class CalibrateTable(_Step):
    """How answers become values of the scale."""

    map: Map | Annotated[list[Map], Field(min_length=1)] = ["rank", "none"]
    fit: Literal["held_out", "oracle"] | None = None
    folds: Annotated[int, Field(ge=2)] = 5
    repeats: Annotated[int, Field(ge=1)] = 2
    target: Literal["ratings", "consensus"] | None = None
    ties: Literal["block", "midrank", "index", "random"] | None = None


class ResampleTable(_Step):
    """What intervals redraw, and how often."""

    over: Drawn | Annotated[list[Drawn], Field(min_length=1)] | None = None
    n: Annotated[int, Field(ge=100)] | None = None
    level: Annotated[float, Field(ge=0.5, lt=1)] = 0.95


class ScoreTable(_Step):
    """[score]: how answers are held against the raters."""

    preset: Literal["readout-paper"] | None = None
    answers: list[Name] = []
    statistic: Statistic | Annotated[list[Statistic], Field(min_length=1)] | None = None
    calibrate: CalibrateTable | None = None
    aggregate: Literal["pooled", "identity"] | None = None
    anchors: list[Anchor] | None = None
    baselines: list[Baseline] | None = None
    reliable: Annotated[float, Field(ge=-1, le=1)] = 0.30
    equivalence: Annotated[float, Field(gt=0)] | None = None
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    positive: Literal["any", "majority", "median"] = "any"
    resample: ResampleTable = ResampleTable()

    @model_validator(mode="after")
    def _says_things_once(self) -> ScoreTable:
        maps = None if self.calibrate is None else self.calibrate.map
        for what, values in (
            ("answers", self.answers),
            ("statistic", self.statistic),
            ("calibrate.map", maps),
            ("anchors", self.anchors),
            ("baselines", self.baselines),
            ("resample.over", self.resample.over),
        ):
            _once(values, what)
        return self


class AuditTable(_Step):
    """[audit]: what of the raters is looked at, and under which protocol systems are held against them one by one."""

    object: Object | Annotated[list[Object], Field(min_length=1)] = "ratings"
    raters: Annotated[list[Name], Field(min_length=1)] | None = None
    readout: Name | None = None
    phrasing: Name | None = None
    prefill: str | None = None
    target: Share | Annotated[list[Share], Field(min_length=1)] | None = None
    outputs: Name | None = None

    @property
    def objects(self) -> list[Object]:
        """What is audited, the ratings first."""
        named = [self.object] if isinstance(self.object, str) else self.object
        return [one for one in ("ratings", "agreement") if one in named]

    @model_validator(mode="after")
    def _fits_its_object(self) -> AuditTable:
        _once(self.object, "object")
        _once(self.raters, "raters")
        of_agreement = ("raters", "readout", "phrasing", "prefill")
        if "agreement" not in self.objects and (astray := [one for one in of_agreement if getattr(self, one)]):
            raise ValueError(
                f'has {", ".join(astray)}, which choose whose agreement is audited: add object = ["ratings", '
                '"agreement"], or leave them out'
            )
        return self


class ReportTable(_Step):
    """[report]: the heading of the page, what it says under its verdict, how many items it shows."""

    title: Name | None = None
    note: Name | None = None
    examples: Annotated[int, Field(ge=0, le=30)] = EXAMPLES

    @field_validator("title")
    @classmethod
    def _is_a_line(cls, value: str | None) -> str | None:
        if value is not None and "\n" in value:
            raise ValueError("has several lines; a heading is one (note takes several)")
        return value
