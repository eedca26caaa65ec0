import numpy as np
import pytest

from measurand.stats import variance
from measurand.stats.facets import Formula, anova, components, pivots, project
from measurand.stats.inference import stream

O1 = ["2455442306", "6559346458", "7648546447", "5766675556"]
O2 = ["2655462656", "5747547658", "5557677658", "5756485436"]
#: Brennan (2001), synthetic data set 3 (occasion, item, person) and table 3.2 (task, rater, person).
SET_3 = np.array([[[float(x) for x in row] for row in o] for o in (O1, O2)])
T1 = ["5937937594", "6345243894", "5735937584", "5733757783"]
T2 = ["5753737763", "3531735565", "4534365566", "5553737455"]
T3 = ["6765245355", "7753755287", "3513515111", "3265324111"]
TABLE_3_2 = np.array([[[float(x) for x in row] for row in task] for task in (T1, T2, T3)])


def coefficients(formula, parts, sizes, fixed=()):
    arrays = {name: np.array(value) for name, value in parts.items()}
    found = project(formula, sizes, object_of_measurement="person", fixed=fixed)
    true = float(found.true_variance(arrays))
    return tuple(true / (true + float(found.error(arrays, absolute=absolute))) for absolute in (False, True))


@pytest.fixture(scope="module")
def crossed():
    formula = Formula.parse("person x item x occasion")
    return formula, components(anova(SET_3.transpose(1, 2, 0), formula))


@pytest.fixture(scope="module")
def nested():
    formula = Formula.parse("person x (rater:task)")
    return formula, components(anova(TABLE_3_2.transpose(1, 2, 0), formula))


def test_crossed_components_are_the_published_ones(crossed):
    formula, parts = crossed
    published = {"person": 0.5528, "item": 0.4417, "occasion": 0.0074, "item:person": 0.5750, "person:occasion": 0.1009,
                 "item:occasion": 0.1565, "residual": 0.9352}  # fmt: skip
    assert {name: round(value, 4) for name, value in parts.items()} == pytest.approx(published, abs=1e-4)
    assert formula.facets == ("item", "person", "occasion")


@pytest.mark.parametrize(
    ("sizes", "published"),
    [((4, 1), (0.536, 0.465)), ((8, 1), (0.656, 0.598)), ((8, 2), (0.754, 0.689)), ((16, 1), (0.739, 0.697))],
)
def test_crossed_projections_are_the_published_ones(crossed, sizes, published):
    found = coefficients(*crossed, dict(zip(("item", "occasion"), sizes, strict=True)))
    assert found == pytest.approx(published, abs=6e-4)


def test_a_fixed_facet_moves_its_interaction_into_the_true_scores(crossed, nested):
    assert coefficients(*crossed, {"item": 4, "occasion": 2}, ("item",)) == pytest.approx((0.81, 0.79), abs=6e-3)
    assert coefficients(*nested, {"task": 3, "rater": 4}, ("task",)) == pytest.approx((0.77, 0.72), abs=6e-3)


def test_nested_components_are_the_published_ones(nested):
    published = {"person": 0.4731, "task": 0.3252, "rater:task": 0.6475, "person:task": 0.5596, "residual": 2.3802}
    assert nested[1] == pytest.approx(published, abs=1e-4)


@pytest.mark.parametrize(
    ("task", "rater", "published"),
    [(3, 4, (0.5514, 0.4637)), (3, 1, (0.326, 0.266)), (3, 2, (0.448, 0.372)), (6, 2, (0.619, 0.542)),
     (12, 1, (0.659, 0.592))],
)  # fmt: skip
def test_nested_projections_are_the_published_ones(nested, task, rater, published):
    assert coefficients(*nested, {"task": task, "rater": rater}) == pytest.approx(published, abs=6e-4)


def test_the_same_numbers_read_as_items_of_their_own_for_each_person():
    formula = Formula.parse("item:person")
    array = SET_3.transpose(2, 0, 1).reshape(10, 8)
    table = anova(array.T, formula)
    assert table.ms == pytest.approx({"person": 6.9111, "residual": 2.0250}, abs=1e-4)
    parts = components(table)
    assert parts["person"] == pytest.approx(0.6108, abs=1e-4)
    assert coefficients(formula, parts, {"item": 8}) == pytest.approx((0.71, 0.71), abs=4e-3)


def test_a_crossed_design_gives_what_the_analysis_of_variance_of_panels_gives():
    cube = np.random.default_rng(2).normal(size=(4, 3, 5, 2))
    names = ["item", "system", "rater", "phrasing"]
    mine = anova(cube, Formula.parse("system x item x rater x phrasing"))
    theirs = variance.anova(cube, names)
    assert mine.ss == pytest.approx(theirs.ss)
    assert mine.df == theirs.df
    assert components(mine) == pytest.approx(variance.components(theirs))
    drawn = pivots(mine, n_draws=50, rng=stream(1))
    expected = variance.pivots(theirs, n_draws=50, rng=stream(1))
    assert set(drawn) == set(expected)


@pytest.mark.parametrize(
    "text",
    ["system x item x (rater:group)", "system x item x rater x phrasing", "system x (item:topic) x (rater:group)"],
)
def test_components_are_unbiased_for_designs_with_groups(text):
    formula = Formula.parse(text)
    sizes = {"system": 3, "item": 3, "rater": 3, "group": 2, "phrasing": 2, "topic": 2}
    shape = [sizes[facet] for facet in formula.facets]
    truth = {formula.name(members): 0.2 + 0.3 * at for at, members in enumerate(formula.components)}
    rng = np.random.default_rng(8)
    found = []
    for _ in range(400):
        array = np.zeros(shape)
        for members in formula.components:
            own = [size if facet in members else 1 for facet, size in zip(formula.facets, shape, strict=True)]
            array = array + rng.normal(0, np.sqrt(truth[formula.name(members)]), own)
        found.append(list(components(anova(array, formula)).values()))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert np.abs((mean - list(truth.values())) / error).max() < 4


def test_sums_of_squares_and_degrees_of_freedom_add_up():
    formula = Formula.parse("system x (item:topic) x (rater:group:country)")
    shape = (3, 2, 4, 2, 2, 3)
    array = np.random.default_rng(1).normal(size=shape)
    table = anova(array, formula)
    assert sum(table.ss.values()) == pytest.approx(((array - array.mean()) ** 2).sum())
    assert sum(table.df.values()) == array.size - 1
    assert min(table.df.values()) > 0


def test_formulas_read_as_they_are_written():
    formula = Formula.parse(" system × item * ( rater:group:country ) ")
    assert formula.facets == ("item", "system", "rater", "group", "country")
    assert formula.within["rater"] == {"group", "country"}
    assert str(formula) == "item x system x (rater:group:country)"
    assert str(Formula.parse(str(formula))) == str(formula)
    assert formula.members("rater:country:group") == {"rater", "group", "country"}
    with pytest.raises(ValueError, match="no component 'rater'; this design has item, system,"):
        formula.members("rater")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("system", "a design needs two facets"),
        ("system x", "'' is no facet"),
        ("", "'' is no facet"),
        ("system x item x item", "the facet 'item' occurs twice"),
        ("system x (rater:)", "is no facet and no chain"),
        ("system x 3", "'3' is no facet"),
        ("system x item x (rater:residual)", "no facet can be called 'residual'"),
        ("system x item=2", "is no facet"),
    ],
)
def test_what_is_no_formula_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        Formula.parse(text)


@pytest.mark.parametrize(
    ("sizes", "object_", "fixed", "said"),
    [
        ({"item": 2}, "system", (), "no size of 'group'"),
        ({"item": 0.5, "rater": 2, "group": 2}, "system", (), "no size of 'item', or one below 1"),
        ({"item": 2, "rater": 2, "group": 2}, "model", (), "no facet 'model'"),
        ({"item": 2, "rater": 2, "group": 2}, "rater", (), "the object 'rater' is nested in others"),
        ({"item": 2, "rater": 2, "group": 2}, "system", ("system",), "'system' is the object"),
        ({"item": 2, "rater": 2, "group": 2}, "system", ("rater",), "fix 'group' as well, or neither"),
    ],
)
def test_what_makes_no_projection_is_refused(sizes, object_, fixed, said):
    with pytest.raises(ValueError, match=said):
        project(Formula.parse("system x item x (rater:group)"), sizes, object_of_measurement=object_, fixed=fixed)
