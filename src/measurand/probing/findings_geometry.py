"""What the geometry of vectors shows and what it does not: four findings, made from rows alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from measurand.probing.questions import Question, Rows
from measurand.result import Finding, Key, Result, Row, show_number
from measurand.sentences import listed, percent, share, short, show_p, spread_of

#: Raw anisotropy above which the mean vector is what it shows, and a difference between encoders that is read as one.
RAW_ANISOTROPY: Final = 0.1
RAW_DIFFERENCE: Final = 0.05
#: Gain of a classifier by centring above which the penalty, not the space, made it fail.
CENTRING_GAIN: Final = 0.1
#: Precision at 1 from which on an item's nearest one in the other language is its counterpart more often than not.
ALIGNED: Final = 0.5
#: Correlations over encoders that are nearer to 0 than this are of no consequence.
NO_CORRELATION: Final = 0.3

_SOURCE: Final = "Sakhawat 2026, arXiv 2609.29445, section 7"
_UNREAD: Final = (
    "Do not rank encoders by raw anisotropy, which shows where the mean lies, nor by the centred one, which centring "
    "makes. Compare isoscore_unbiased or participation_ratio_unbiased, and what a task gets out of the vectors."
)
_NOT_ALIGNMENT: Final = "That is separability; neither a high nor a low value says how well languages are aligned."
_PARALLEL: Final = (
    "Embed the same content in the languages and name the counterparts in a column called parallel; until then claim "
    "nothing about alignment."
)


def geometry_findings(result: Result) -> list[Finding]:
    """Return the findings of a geometry.

    Parameters
    ----------
    result : Result
        What `measurand.probing.geometry.geometry` made, alone or among others.

    Returns
    -------
    list of Finding
        `anisotropy-is-offset`, `languages-separable`, `alignment-shown`, `geometry-and-use`; none where no vectors
        were given.
    """
    rows = Rows.of(result, "geometry")
    return [question(rows) for question in (_offset, _separable, _alignment, _use)] if rows else []


def _offset(rows: Rows) -> Finding:
    asked = Question(
        "anisotropy-is-offset", "Does raw anisotropy say more than where the mean of the vectors lies?", _SOURCE
    )
    raw = _of(rows, "anisotropy", {"centred": "no"})
    centred, limits = _of(rows, "anisotropy", {"centred": "yes"}), _of(rows, "anisotropy_limit", {"centred": "yes"})
    if not raw or not centred:
        return asked.undetermined(rows.first_undefined("anisotropy"), "Give two vectors or more that differ.")
    spread = max(row.estimate for row in raw) - min(row.estimate for row in raw)
    highest = max(row.estimate for row in raw)
    sets = f"{len(raw)} set{'s' * (len(raw) != 1)} of vectors"
    statement = (
        f"Raw anisotropy is {_range(raw)} over {sets}; with the mean taken out it is {_range(centred, named=False)}, "
        f"where centred vectors of one length have {_range(limits, named=False)} whatever they are."
    )
    if len({row.n_items for row in raw}) > 1:
        statement += " The sets of vectors are not of the same number of items."
    where = [*raw, *centred, *limits]
    if highest <= RAW_ANISOTROPY and spread <= RAW_DIFFERENCE:
        return asked.answer("pass", statement, where=where)
    found = _of(rows, "isoscore_unbiased", {})
    even, beyond = ([row for row in found if (0 <= row.estimate <= 1) is one] for one in (True, False))
    remedy = f"{_UNREAD} isoscore_unbiased is {_range(even)} here." if even else _UNREAD
    if beyond:
        names = listed([_name(row) for row in beyond])
        remedy += (
            f" That of {names} is outside 0 to 1, as an estimate without bias may be: it tells nothing more exact."
        )
    return asked.answer("warn", statement, remedy=remedy, where=[*where, *found])


def _separable(rows: Rows) -> Finding:
    asked = Question("languages-separable", "Can a linear classifier tell the languages of the vectors apart?", _SOURCE)
    if not any(row.keys.get("language") for row in rows):
        statement = "The vectors are of one language, or none is told."
        return asked.answer("not_applicable", statement)
    plain = _of(rows, "language_accuracy", {"centred": "no"})
    chance = {row.keys["vectors"]: row.estimate for row in _of(rows, "language_chance", {})}
    if not plain:
        return asked.undetermined(rows.first_undefined("language_accuracy"), "Give more items of each language.")
    again = {row.keys["vectors"]: row for row in _of(rows, "language_accuracy", {"centred": "yes"})}
    gained = [row for row in plain if again[row.keys["vectors"]].estimate - row.estimate > CENTRING_GAIN]
    blind = [row for row in plain if row.low is None or row.low <= chance[row.keys["vectors"]]]
    highest = max(chance.values())
    statement = (
        f"It tells {_range(plain, as_share=True)} of items right, the commonest language alone {share(highest)}. "
        f"{_NOT_ALIGNMENT}"
    )
    if gained:
        shown = (
            f"{_name(row)} {share(row.estimate)} to {share(again[row.keys['vectors']].estimate)}" for row in gained
        )
        statement += (
            f" Subtracting the mean first takes {listed(list(shown))}: before, a large common mean and the penalty hid "
            "the differences."
        )
    where = [*plain, *again.values()]
    if not gained and not blind:
        return asked.answer("pass", statement, where=where)
    remedy = "Centre the vectors before a classifier is trained on them, or tune its penalty." if gained else ""
    if still := [row for row in blind if row not in gained]:
        f1 = {row.keys["vectors"]: row for row in _of(rows, "probe_macro_f1", {"centred": "no"})}
        read = [f"{_name(row)} {short(f1[row.keys['vectors']].estimate)}" for row in still if row.keys["vectors"] in f1]
        seen = f" (macro-F1 of the labels: {listed(read)})" if read else ""
        also = (
            f"{listed([_name(row) for row in still])} may fail to hold other distinctions, too{seen}: low separability "
        )
        remedy = " ".join(filter(None, [remedy, f"{also}is no merit."]))
    return asked.answer("warn", statement, remedy=remedy, where=where)


def _alignment(rows: Rows) -> Finding:
    asked = Question(
        "alignment-shown",
        "Is an item's nearest vector of another language the one that says the same?",
        "Artetxe & Schwenk 2019, section 4.3; Conneau et al. 2018, section 2.3",
    )
    if not any(row.keys.get("language") for row in rows):
        statement = "The vectors are of one language, or none is told."
        return asked.answer("not_applicable", statement)
    found = _of(rows, "precision_at_1", {"centred": "no"}, by_language=True)
    if not found:
        return asked.undetermined(rows.first_undefined("precision_at_1"), _PARALLEL)
    hubs = _of(rows, "precision_at_1_csls", {"centred": "no"}, by_language=True)
    by_chance = {1 / (row.n_items or 1) for row in found}
    low = [row.low if row.low is not None else 0.0 for row in found]
    statement = (
        f"By cosine it is for {_range(found, as_share=True)} of the items, by CSLS for {_range(hubs, as_share=True)}, "
        f"over {len(found)} direction{'s' * (len(found) != 1)}; chance is at most {share(max(by_chance))}."
    )
    where = [*found[:6], *hubs[:6]]
    if min(low) >= ALIGNED:
        return asked.answer("pass", statement, where=where)
    if all(limit > 1 / (row.n_items or 1) for limit, row in zip(low, found, strict=True)):
        remedy = "Above chance, and yet a counterpart is not reliably nearest: report these numbers, not separability."
        return asked.answer("warn", statement, remedy=remedy, where=where)
    remedy = "These vectors do not align the languages: do not use them to carry anything from one to the other."
    return asked.answer("fail", statement, remedy=remedy, where=where)


def _use(rows: Rows) -> Finding:
    asked = Question(
        "geometry-and-use",
        "Over encoders, does anisotropy go with what a classifier of the labels gets out of the vectors?",
        _SOURCE,
    )
    row = next(iter(_of(rows, "pearson_anisotropy_macro_f1", {"centred": "no"})), None)
    if row is None or row.low is None or row.high is None:
        why = row or rows.first_undefined("pearson_anisotropy_macro_f1")
        remedy = "It takes labelled items and at least four encoders; the correlation is over encoders, not over items."
        return asked.undetermined(why, remedy)
    n = int(row.df2 or 0) + 2
    statement = (
        f"Over {n} encoders r = {show_number(row.estimate, width=row.high - row.low)} ({percent(row.confidence)} "
        f"interval {spread_of(row)}, {show_p(row.p)})."
    )
    if row.low > 0 or row.high < 0:
        remedy = f"{n} encoders differ in much else besides: this is no reason to change an encoder's anisotropy."
        return asked.answer("warn", statement, remedy=remedy, where=[row])
    if max(-row.low, row.high) < NO_CORRELATION:
        return asked.answer("pass", statement + " Anisotropy is no guide to use.", where=[row])
    remedy = f"{n} encoders cannot tell: claim neither that anisotropy matters nor that it does not."
    return asked.answer("undetermined", statement, remedy=remedy, where=[row])


def _of(rows: Rows, statistic: str, keys: Mapping[str, Key], *, by_language: bool = False) -> list[Row]:
    """Return the defined rows of a statistic over all languages, or by language."""
    return [row for row in rows.defined(statistic, keys) if bool(row.keys.get("language")) == by_language]


def _name(row: Row) -> str:
    of = str(row.keys.get("vectors", "")) or "all"
    way = f", {row.keys['language']} to {row.keys['against']}" if row.keys.get("against") else ""
    return of + way


def _range(rows: Sequence[Row], *, named: bool = True, as_share: bool = False) -> str:
    """Return the lowest and the highest number of rows and whose they are."""
    show = share if as_share else short
    lowest, highest = min(rows, key=lambda row: row.estimate), max(rows, key=lambda row: row.estimate)
    ends = [f"{show(row.estimate)} ({_name(row)})" if named else show(row.estimate) for row in (lowest, highest)]
    if show(lowest.estimate) == show(highest.estimate):
        return ends[0] if len(rows) == 1 else show(lowest.estimate)
    return " to ".join(ends)
