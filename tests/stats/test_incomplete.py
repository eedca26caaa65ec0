import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.stats.facets import Formula, anova, components, project
from measurand.stats.henderson import henderson, henderson_equations
from measurand.stats.incomplete import effective_sizes, effects, inseparable, laid_out, unconnected
from measurand.stats.inference import stream
from measurand.stats.reliability import layout_error

often = settings(derandomize=True, deadline=None, max_examples=25)
TEXTS = ["system x item x rater", "system x item x (rater:group)", "system x (item:topic) x (rater:group)"]
SIZES = {"system": 3, "item": 4, "rater": 3, "group": 2, "topic": 2}

#: Rajaratnam, Cronbach & Gleser (1965), in Brennan (2001), table 9.1: eight persons; items within three heads.
HEADS = [["42213130", "51433251"], ["32456561", "33747682", "51655460", "44557474"], ["54848577", "76759688"]]


def holed(text, seed, missing):
    """Return a design, its levels and ratings with some cells empty, and the whole array."""
    formula = Formula.parse(text)
    shape = [SIZES[facet] for facet in formula.facets]
    rng = np.random.default_rng(seed)
    array = rng.normal(size=shape) + sum(
        rng.normal(0, 0.5, [n if k == axis else 1 for k, n in enumerate(shape)]) for axis in range(len(shape))
    )
    kept = rng.random(array.size) >= missing
    levels = {facet: index.ravel()[kept] for facet, index in zip(formula.facets, np.indices(shape), strict=True)}
    return formula, levels, array.ravel()[kept], array


def heads():
    formula = Formula.parse("person x (item:head)")
    cells = [(p, i, h, float(row[p])) for h, rows in enumerate(HEADS) for i, row in enumerate(rows) for p in range(8)]
    person, item, head, rating = (np.array(one) for one in zip(*cells, strict=True))
    return formula, {"person": person, "item": item, "head": head}, rating


def dense(formula, levels):
    """Return a 0/1 matrix of ratings by levels for each component, the residual's last."""
    out = []
    for members in formula.components:
        keys = list(zip(*(levels[facet].tolist() for facet in sorted(members)), strict=True))
        place = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        z = np.zeros((len(keys), len(place)))
        z[np.arange(len(keys)), [place[key] for key in keys]] = 1.0
        out.append(z)
    return out


def test_an_unbalanced_published_example_has_its_published_answers():
    formula, levels, rating = heads()
    parts = henderson(rating, effects(formula, levels))
    published = {"person": 1.2014, "head": 2.9161, "item:head": 0.2946, "person:head": 0.9914, "residual": 0.8429}
    assert parts == pytest.approx(published, abs=6e-5)
    weights = laid_out(formula, levels, object_of_measurement="person")
    arrays = {name: np.array(value) for name, value in parts.items()}
    true = float(weights.true_variance(arrays))
    g, phi = (true / (true + float(weights.error(arrays, absolute=absolute))) for absolute in (False, True))
    assert (g, phi) == pytest.approx((0.716, 0.428), abs=6e-4)


@often
@given(st.sampled_from(TEXTS), st.integers(0, 99))
def test_where_nothing_is_missing_the_answers_are_those_of_balanced_data(text, seed):
    formula, levels, rating, array = holed(text, seed, 0.0)
    found, right = henderson(rating, effects(formula, levels)), components(anova(array, formula))
    assert list(found) == list(right)
    assert found == pytest.approx(right, abs=1e-9)
    sizes = effective_sizes(formula, levels, "system")
    assert sizes == pytest.approx({facet: SIZES[facet] for facet in formula.facets if facet != "system"}, abs=1e-9)
    for fixed in ((), ("item",) if "topic" not in formula.facets else ("topic",)):
        asked = {"object_of_measurement": "system", "fixed": fixed}
        mine, theirs = laid_out(formula, levels, **asked), project(formula, SIZES, **asked)
        for one, other in zip(
            (mine.universe, mine.relative, mine.absolute), (theirs.universe, theirs.relative, theirs.absolute),
            strict=True,
        ):  # fmt: skip
            assert dict(one) == pytest.approx(dict(other), abs=1e-12)


@often
@given(st.sampled_from(TEXTS), st.integers(0, 99))
def test_expectations_are_those_of_dense_algebra(text, seed):
    """E(y'Ay) = Σ σ² tr(A Z Z'), with A = Z (Z'Z)⁻¹ Z' - J / n written out."""
    formula, levels, rating, _ = holed(text, seed, 0.3)
    every = dense(formula, levels)
    n = len(rating)
    terms = effects(formula, levels)
    forms = [z @ np.diag(1 / z.sum(axis=0)) @ z.T - np.ones((n, n)) / n for z in every[:-1]] + [
        np.eye(n) - np.ones((n, n)) / n
    ]
    right = np.array([[np.trace(a @ z @ z.T) for z in every] for a in forms])
    assert henderson_equations(terms, n) == pytest.approx(right, abs=1e-8)
    if not inseparable(terms, henderson_equations(terms, n)):
        squares = np.array([rating @ a @ rating for a in forms])
        values = list(henderson(rating, terms).values())
        assert values == pytest.approx(np.linalg.solve(right, squares), rel=1e-6, abs=1e-8)


@often
@given(st.sampled_from(TEXTS), st.integers(0, 99), st.sampled_from([(), ("item",), ("group",)]))
def test_the_error_of_objects_means_is_that_of_dense_algebra(text, seed, fixed):
    """The variance of the objects' means over all that is drawn, and that of the differences of pairs of them."""
    formula, levels, _, _ = holed(text, seed, 0.3)
    fixed = tuple(facet for facet in fixed if facet in formula.facets and (facet, "topic") != ("item", "topic"))
    if "topic" in formula.facets and "item" in fixed:
        fixed = ()
    own = levels["system"]
    means = np.array([(own == s) / (own == s).sum() for s in range(SIZES["system"])])
    found = laid_out(formula, levels, object_of_measurement="system", fixed=fixed)
    pairs = [(a, b) for a in range(len(means)) for b in range(a)]
    for members, z in zip(formula.components, dense(formula, levels), strict=True):
        name, rest = formula.name(members), members - {"system"}
        if rest <= set(fixed):
            continue
        share = means @ z
        absolute = np.mean((share**2).sum(axis=1))
        relative = np.mean([((share[a] - share[b]) ** 2).sum() / 2 for a, b in pairs])
        assert found.absolute[name] == pytest.approx(absolute)
        assert found.relative.get(name, 0.0) == pytest.approx(relative, abs=1e-12)


def test_items_systems_and_raters_have_the_weights_of_the_panel_audit():
    formula, levels, _, _ = holed("system x item x rater", 3, 0.3)
    mine = laid_out(formula, levels, object_of_measurement="system")
    theirs = layout_error(levels["item"], levels["system"], levels["rater"])
    assert dict(mine.absolute) == pytest.approx(dict(theirs.absolute))
    assert {name: mine.relative.get(name, 0.0) for name in theirs.relative} == pytest.approx(dict(theirs.relative))


def test_a_fixed_facets_error_is_what_its_levels_are_not_shared_alike():
    """Two systems, two phrasings; one system was rated three times as often with the first as with the second."""
    formula = Formula.parse("system x phrasing")
    levels = {"system": np.array([0, 0, 0, 0, 1, 1]), "phrasing": np.array([0, 0, 0, 1, 0, 1])}
    found = laid_out(formula, levels, object_of_measurement="system", fixed=("phrasing",))
    mean = np.array([0.625, 0.375])
    off = ((np.array([0.75, 0.25]) - mean) ** 2).sum()
    assert dict(found.universe) == pytest.approx({"system": 1.0, "residual": (mean**2).sum()})
    assert found.relative["residual"] == pytest.approx(off)
    assert found.absolute["phrasing"] == pytest.approx(off)
    assert found.relative["phrasing"] == pytest.approx(((np.array([0.75, 0.25]) - 0.5) ** 2).sum() / 2)


@pytest.mark.parametrize("text", TEXTS)
def test_components_of_designs_with_holes_are_unbiased(text):
    formula, levels, _, _ = holed(text, 5, 0.25)
    terms = effects(formula, levels)
    truth = {formula.name(members): 0.2 + 0.3 * at for at, members in enumerate(formula.components)}
    rng = stream(3)
    n = len(levels["system"])
    found = []
    for _ in range(400):
        rating = rng.normal(0, np.sqrt(truth["residual"]), n)
        for term in terms:
            rating = rating + rng.normal(0, np.sqrt(truth[term.name]), term.n_levels)[term.codes]
        found.append(list(henderson(rating, terms).values()))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert np.abs((mean - list(truth.values())) / error).max() < 4


def told_apart(formula, levels):
    terms = effects(formula, levels)
    return inseparable(terms, henderson_equations(terms, len(levels["system"])))


def test_what_cannot_be_told_apart_is_named():
    formula = Formula.parse("system x item x rater")
    item, system, rater = (index.ravel() for index in np.indices((4, 3, 2)))
    levels = {"item": item, "system": system, "rater": rater}
    assert told_apart(formula, levels) == []
    once = {facet: level[rater == item % 2] for facet, level in levels.items()}
    assert told_apart(formula, once) == ["item", "item:rater"]
    # Of every item and system one rating alone, though items have several raters.
    alone = {facet: level[rater == (item + system) % 2] for facet, level in levels.items()}
    assert told_apart(formula, alone) == ["item:system", "residual"]


def test_objects_that_share_nothing_are_not_connected():
    formula = Formula.parse("system x item x rater")
    item, system, rater = (index.ravel() for index in np.indices((6, 4, 3)))
    levels = {"item": item, "system": system, "rater": rater}
    assert unconnected(formula, levels, "system") is None
    halves = {facet: level[(system < 2) == (item < 3)] for facet, level in levels.items()}
    found = unconnected(formula, halves, "system")
    assert (found.facet, found.first, found.second) == ("item", 0, 2)


def test_objects_that_share_each_facet_but_not_both_together_are_not_connected():
    """Systems 0 and 1 share an item and a rater, but what would tell them apart is one difference too many."""
    formula = Formula.parse("system x item x rater")
    cells = [(0, 0, 0), (0, 1, 1), (1, 0, 2), (1, 1, 0), (0, 0, 0)]
    system, item, rater = (np.array(one) for one in zip(*cells, strict=True))
    levels = {"system": system, "item": item, "rater": rater}
    columns = [np.eye(level.max() + 1)[level] for level in (system, item, rater)]
    whole, others = np.hstack(columns), np.hstack(columns[1:])
    is_connected = np.linalg.matrix_rank(whole) - np.linalg.matrix_rank(others) == 1
    assert (unconnected(formula, levels, "system") is None) == is_connected


@often
@given(st.integers(0, 400))
def test_whether_a_design_is_connected_is_what_the_rank_of_its_main_effects_says(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 12))
    levels = {}
    for facet, size in (("system", 3), ("item", 4), ("rater", 3)):
        _, code = np.unique(rng.integers(size, size=n), return_inverse=True)
        levels[facet] = code.astype(np.int64)
    columns = {facet: np.eye(level.max() + 1)[level] for facet, level in levels.items()}
    others = np.hstack([columns["item"], columns["rater"]])
    rank = np.linalg.matrix_rank(np.hstack([columns["system"], others])) - np.linalg.matrix_rank(others)
    is_connected = rank == levels["system"].max()
    assert (unconnected(Formula.parse("system x item x rater"), levels, "system") is None) == is_connected
