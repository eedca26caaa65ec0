"""The study file's tables as models: every key, its type and its default; unknown keys are refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, Field, field_validator, model_validator

from measurand.data.marks import MARKS, DecimalMark, Marks
from measurand.data.read import is_delimited
from measurand.data.scale import Level
from measurand.eliciting.declared import Control, TextUnit
from measurand.eliciting.system import EngineName
from measurand.result import MeasurandError
from measurand.study_file.cells import KEY, SECRET, STRICT, JsonTable, Name, Seed
from measurand.study_file.steps import AuditTable, ReportTable, ScoreTable

Kind = Literal["verification", "generative", "choice", "scale", "text"]
Derived = Literal["binarized", "double_centred"]

_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_ADDRESS: Final = re.compile(r"https?://(?P<host>[^/?#\s]+)(?P<rest>\S*)", re.IGNORECASE)

#: Keys of [[system]] that say what it is a control of, and nothing of how it is asked.
OF_CONTROLS: Final = ("control_of", "base")

#: Keys of [[system]] that mean something to some engines alone.
ENGINE_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "revision": ("transformers", "openai"),
    "gguf": ("transformers",),
    "device": ("transformers",),
    "dtype": ("transformers",),
    "tolerance": ("transformers",),
    "url": ("openai",),
    "api_key_env": ("openai",),
    "concurrency": ("openai",),
    "timeout_s": ("openai",),
    "tries": ("openai",),
    "requests_per_minute": ("openai",),
    "top_logprobs": ("openai", "fake"),
    "prefill_style": ("openai",),
    "extra_body": ("openai",),
}


class Table(BaseModel):
    """A table of the file."""

    model_config = STRICT


class StudyTable(Table):
    """[study]: the study's name, its one seed, its folder."""

    name: Name
    seed: Seed = 0
    out: Name | None = None

    @field_validator("name")
    @classmethod
    def _is_a_folders_name(cls, value: str) -> str:
        if re.search(r"[/\\\n\t]", value) or value in (".", ".."):
            raise ValueError("holds a slash or is no name for a folder; the answers go to runs/NAME unless out is set")
        return value


class ColumnsTable(Table):
    """The tables' own names of columns."""

    item: Name = "item"
    text: Name | None = None
    image: Name | None = None
    label: Name | None = None
    group: Name | None = None
    rater: Name | None = None
    criterion: Name | None = None
    rating: Name | None = None
    system: Name | None = None
    occasion: Name | None = None
    order: Name | None = None


class CriteriaTable(Table):
    """Where the criteria come from: a file with one a line, a column of the ratings, a preset."""

    file: Name | None = None
    column: Name | None = None
    preset: Name | None = None

    @model_validator(mode="after")
    def _is_one(self) -> CriteriaTable:
        if len(self.model_fields_set) != 1:
            raise ValueError("names several places or none; give one of file, column, preset")
        return self


Of = Literal["items", "ratings", "outputs"]


class DataTable(Table):
    """[data]: what is shown, what is asked about, and the people's ratings; how these files spell their cells."""

    items: Name
    ratings: Name | None = None
    columns: ColumnsTable = ColumnsTable()
    criteria: list[Name] | CriteriaTable | None = None
    delimiter: Name | dict[Of, Name] | None = None
    decimal: DecimalMark | dict[Of, DecimalMark] | None = None
    missing: list[Name] | dict[Of, list[Name]] | None = None

    @model_validator(mode="after")
    def _spells(self) -> DataTable:
        for of in get_args(Of):
            try:
                self._marks(of, is_delimited=True)
            except MeasurandError as error:
                raise ValueError(f"has {error}") from error
        return self

    def marks(self, of: Of, path: Path) -> Marks:
        """Return how the file of a table spells its cells; what is said of all is said of .csv and .tsv files."""
        return self._marks(of, is_delimited=is_delimited(path))

    @property
    def declared(self) -> dict[str, Any]:
        """What is declared of the files' spelling; nothing where nothing is."""
        return self.model_dump(mode="json", include=set(MARKS), exclude_none=True)

    def _marks(self, of: Of, *, is_delimited: bool) -> Marks:
        def said(value: Any, otherwise: Any) -> Any:
            if isinstance(value, dict):
                return value.get(of, otherwise)
            return otherwise if value is None or not is_delimited else value

        return Marks(said(self.delimiter, None), said(self.decimal, "."), said(self.missing, ()))


class ScaleTable(Table):
    """[scale] or [scale.CRITERION]: the permitted ratings."""

    low: float | None = None
    high: float | None = None
    step: float | None = None
    level: Level | None = None
    labels: list[Name] | dict[str, Name] | None = None


class PriceTable(Table):
    """What tokens cost."""

    input: Annotated[float, Field(ge=0)] = 0.0
    output: Annotated[float, Field(ge=0)] = 0.0
    cached: Annotated[float, Field(ge=0)] | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    per: Annotated[int, Field(ge=1)] = 1_000_000


class SystemTable(Table):
    """[[system]]: who is asked, and where it runs."""

    name: Name
    engine: EngineName | None = None
    control_of: Name | None = None
    base: Name | None = None
    model: Name | None = None
    revision: Name | None = None
    gguf: Name | None = None
    url: Name | None = None
    api_key_env: str | None = None
    device: Name = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    tolerance: Annotated[float, Field(gt=0)] | None = None
    thinking: Literal["off", "default"] = "off"
    template_options: JsonTable = {}
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    timeout_s: Annotated[float, Field(gt=0)] = 60.0
    tries: Annotated[int, Field(ge=1, le=100)] = 5
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    top_logprobs: Annotated[int, Field(ge=1, le=1000)] = 20
    prefill_style: Literal["auto", "trailing", "continue_final_message"] = "auto"
    extra_body: JsonTable = {}
    temperature: Annotated[float, Field(ge=0)] | None = None
    price: PriceTable = PriceTable()

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value is not None and (not _VARIABLE.fullmatch(value) or KEY.match(value)):
            raise ValueError(
                "is not the name of an environment variable (capitals, digits, underscores: OPENAI_API_KEY); a key "
                "itself does not belong into a study file"
            )
        return value

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = _ADDRESS.fullmatch(value)
        if parts is None:
            raise ValueError("is no address; write http://HOST:PORT/v1 or https://HOST/v1")
        if "@" in parts["host"] or SECRET.search(parts["rest"]) or "token=" in parts["rest"]:
            raise ValueError("holds a secret; keep it in an environment variable and name that in api_key_env")
        return value

    @model_validator(mode="after")
    def _fits_its_engine(self) -> SystemTable:
        engine = self.engine or ("openai" if self.url else None)
        if engine is None:
            raise ValueError(
                'has neither url nor engine; give url = "http://…/v1", or engine = "transformers" or "fake"'
            )
        if astray := [key for key, fits in ENGINE_KEYS.items() if key in self.model_fields_set and engine not in fits]:
            raise ValueError(
                f"has {', '.join(astray)}, which the engine {engine!r} does not know ("
                + "; ".join(f"{key} is for {' and '.join(ENGINE_KEYS[key])}" for key in astray)
                + "); leave it out"
            )
        if engine == "openai" and self.url is None:
            raise ValueError("has no url; give the server's address (https://api.openai.com/v1 is OpenAI's own)")
        if engine != "fake" and self.model is None:
            what = "the model's name at the server" if engine == "openai" else "a folder or a hub name"
            raise ValueError(f"has no model; give {what}")
        if self.dtype != "float32" and self.tolerance is None:
            raise ValueError(
                f'has dtype = "{self.dtype}" and no tolerance; say how large a difference in log-odds the self-test '
                "may find between one request computed in several ways (in float32 it is 1e-4; in bfloat16 the first "
                "paper's own readings differed by several hundredths of a probability)"
            )
        return self


class DecodingTable(Table):
    """How a reply is generated; "default" sends nothing and leaves it to the engine."""

    max_tokens: Annotated[int, Field(ge=1)] = 512
    temperature: Annotated[float, Field(ge=0)] | Literal["default"] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: Seed | None = None
    stop: list[Name] = []


class RetryTable(Table):
    """What happens after a reply that the rule does not accept."""

    attempts: Annotated[int, Field(ge=1, le=1000)] = 1
    note: str = ""
    shows_reply: bool = False


class RatingsRuleTable(Table):
    """Which generated ratings are accepted."""

    keys: Literal["all", "any"] = "all"
    n_pairs: Annotated[int, Field(ge=1)] | None = None
    zeros: bool = True
    most_nonzero: Annotated[int, Field(ge=0)] | None = None
    strict: bool = True
    repairs: bool = False
    example: list[Name] = []


class TextRuleTable(Table):
    """Which generated texts are accepted."""

    unit: TextUnit = "grapheme"
    least: Annotated[int, Field(ge=0)] | None = 1
    most: Annotated[int, Field(ge=1)] | None = None
    only: bool = False
    beyond_ascii: bool = False


class AskedTable(Table):
    """What every readout has: a name of its own, wordings, and what stands before the question."""

    name: Name | None = None
    phrasings: Annotated[int, Field(ge=1)] | list[Name] | None = None
    instructions: str | None = None
    message: str | None = None


class GradedTable(AskedTable):
    """What every readout of probabilities has."""

    prefill: str | None = None
    prefills: Annotated[list[str], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _has_one_prefill(self) -> GradedTable:
        if self.prefill is not None and self.prefills is not None:
            raise ValueError("has prefill and prefills; give one of them")
        return self


class VerificationTable(GradedTable):
    """[elicit.verification]."""

    kind: Literal["verification"] = "verification"
    yes: Annotated[list[Name], Field(min_length=1)] = ["yes"]
    no: Annotated[list[Name], Field(min_length=1)] = ["no"]


class ScaleReadoutTable(GradedTable):
    """[elicit.scale]."""

    kind: Literal["scale"] = "scale"


class ChoiceTable(GradedTable):
    """[elicit.choice]."""

    kind: Literal["choice"] = "choice"
    options: list[Name] | dict[Name, list[Name]] = []
    rotations: Annotated[int, Field(ge=1)] = 1


class GenerativeTable(AskedTable):
    """[elicit.generative]."""

    kind: Literal["generative"] = "generative"
    preset: Name | None = None
    prefill: str = ""
    rule: RatingsRuleTable = RatingsRuleTable()
    retry: RetryTable = RetryTable()
    decoding: DecodingTable = DecodingTable()
    json_schema: bool | JsonTable = False


class TextTable(AskedTable):
    """[elicit.text]."""

    kind: Literal["text"] = "text"
    preset: Name | None = None
    prefill: str = ""
    rule: TextRuleTable = TextRuleTable()
    retry: RetryTable = RetryTable()
    decoding: DecodingTable = DecodingTable()


ReadoutTable = VerificationTable | ScaleReadoutTable | ChoiceTable | GenerativeTable | TextTable


class PhrasingTable(Table):
    """[[elicit.phrasing]]: a wording of the user's own."""

    name: Name
    question: Name
    negated: bool = False
    readout: Name = "verification"


class ElicitTable(Table):
    """[elicit]: what is asked, and how answers are taken."""

    readouts: list[Kind | Derived] | None = None
    controls: list[Control] = []
    control_items: Annotated[int, Field(ge=1)] | Literal["all"] = 50
    repeats: Annotated[int, Field(ge=1)] = 1
    phrasings: Annotated[int, Field(ge=1)] | list[Name] | None = None
    phrasing: list[PhrasingTable] = []
    prefill: str | None = None
    prefills: Annotated[list[str], Field(min_length=1)] | None = None
    subject: Name | None = None
    prompt: Name | None = None
    instructions: str | None = None
    message: str = ""
    verification: VerificationTable | None = None
    scale: ScaleReadoutTable | None = None
    choice: ChoiceTable | None = None
    generative: GenerativeTable | None = None
    text: TextTable | None = None
    readout: list[Annotated[ReadoutTable, Field(discriminator="kind")]] = []

    @model_validator(mode="after")
    def _says_things_once(self) -> ElicitTable:
        for one, other in (("prefill", "prefills"), ("prompt", "instructions")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise ValueError(f"has {one} and {other}; give one of them")
        for what in ("readouts", "controls"):
            given = getattr(self, what) or []
            if again := [name for i, name in enumerate(given) if name in given[:i]]:
                raise ValueError(f"has {again[0]!r} twice in {what}; once is enough (repeats asks again)")
        return self


class StudyTables(Table):
    """The whole file."""

    study: StudyTable
    data: DataTable
    scale: dict[str, ScaleTable] = {}
    system: Annotated[list[SystemTable], Field(min_length=1)]
    elicit: ElicitTable
    score: ScoreTable | None = None
    audit: AuditTable | None = None
    report: ReportTable | None = None

    @field_validator("scale", mode="before")
    @classmethod
    def _by_criterion(cls, value: Any) -> Any:
        """Sort [scale] into a table for all criteria, under a blank name, and tables for single ones."""
        if not isinstance(value, dict):
            return value
        own = {key: one for key, one in value.items() if isinstance(one, dict) and key != "labels"}
        for_all = {key: one for key, one in value.items() if key not in own}
        return ({"": for_all} if for_all else {}) | own
