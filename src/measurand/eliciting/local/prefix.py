"""Many questions behind one beginning: the ways of reading them, from one packed row to one pass for each."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np

from measurand.eliciting.local.model import LocalModel, Seen, shared, tokens
from measurand.eliciting.local.render import Rendered

Ids = tuple[int, ...]
Way = Literal["packed", "expanded", "in_turn", "batch", "one_by_one"]

#: Every way, the fastest first; a model uses the first that its self-test passes.
WAYS: Final[tuple[Way, ...]] = get_args(Way)
#: What each way does, in words.
WORDS: Final[Mapping[Way, str]] = {
    "packed": "the common beginning once, all endings packed into rows under a block mask",
    "expanded": "the common beginning once, the endings as a batch on its cache",
    "in_turn": "the common beginning once, the endings one after another on copies of its cache",
    "batch": "batches of whole prompts, nothing shared",
    "one_by_one": "one pass for each whole prompt, nothing shared",
}

#: Most tokens of one packed row: its mask and its attention grow with the square.
PACKED_TOKENS: Final = 512
#: Most tokens of one batch, those of the expanded cache counted for every row.
BATCH_TOKENS: Final = 2**13


@dataclass(frozen=True)
class Question:
    """One prompt and the places behind it where the next token is to be read.

    Parameters
    ----------
    rendered : Rendered
        The prompt.
    chains : tuple of tuple of int
        Token ids that are written behind the prompt before the next token is read; the first is empty. They are the
        beginnings of spellings of several tokens.
    """

    rendered: Rendered
    chains: tuple[Ids, ...] = ((),)

    @property
    def ids(self) -> Ids:
        """The prompt's token ids."""
        return self.rendered.ids


def common(questions: Sequence[Question]) -> int:
    """Return how many tokens several prompts of one group begin with together; at least one is left to each.

    The ids are compared, never the text: what two texts share may be cut into other tokens. Nothing is shared where
    a picture does not lie wholly in what is common.

    Parameters
    ----------
    questions : sequence of Question
        Prompts with the same picture, or with none.

    Returns
    -------
    int
        0 where nothing can be shared; for a single prompt, all its tokens but the last.

    Examples
    --------
    >>> prompts = [(7, 7, 1, 2, 9), (7, 7, 1, 3), (7, 7, 1, 2)]
    >>> common([Question(Rendered(ids, "", "", "")) for ids in prompts])
    3
    """
    first = questions[0].ids
    n = min(len(question.ids) for question in questions) - 1
    for question in questions[1:]:
        differs = np.flatnonzero(np.asarray(question.ids[:n]) != np.asarray(first[:n]))
        n = int(differs[0]) if len(differs) else n
    ends = max((end for question in questions for _, end in question.rendered.spans), default=0)
    return n if n >= ends else 0


def read(
    model: LocalModel, questions: Sequence[Question], *, way: Way, n_common: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Yield each question's number and float32 logits of shape (n_chains, n_vocabulary), in any order.

    Parameters
    ----------
    model : LocalModel
        The weights.
    questions : sequence of Question
        One group: the same picture or none.
    way : {"packed", "expanded", "in_turn", "batch", "one_by_one"}
        How to read them; each leaves the logits the same but for rounding, where the model allows it.
    n_common : int or None
        Tokens of the common beginning; None to find it. Where there is none, whole prompts are read one by one.
    """
    n = common(questions) if n_common is None else n_common
    if way == "batch":
        yield from _batch(model, questions)
    elif way == "one_by_one" or n == 0:
        for i, question in enumerate(questions):
            yield i, _whole(model, question)
    elif way == "packed":
        yield from _packed(model, questions, n)
    else:
        yield from _on_cache(model, questions, n, way)


# -------------------------------------------------------------------------------------------- whole prompts


def _whole(model: LocalModel, question: Question) -> Any:
    """Return the logits of one prompt in a pass of its own; what is written behind it goes on from its cache."""
    import torch

    ids = question.ids
    if question.chains == ((),):
        model.rest()
        return model.run(_inputs(question, len(ids)), _at(1, len(ids), [(0, len(ids) - 1)])).logits
    root = _beginning(model, question, len(ids), is_plain=model.is_plain)
    found = [root.logits]
    for chain in question.chains[1:]:
        seen = model.run(
            {
                "input_ids": tokens(chain),
                "attention_mask": torch.ones(1, len(ids) + len(chain), dtype=torch.long),
                "position_ids": (root.next_positions[0] + torch.arange(len(chain)))[None],
            },
            _at(1, len(chain), [(0, len(chain) - 1)]),
            cache=shared(root.cache) if model.is_plain else copy.deepcopy(root.cache),
        )
        found.append(seen.logits)
    return torch.cat(found)


def _batch(model: LocalModel, questions: Sequence[Question]) -> Iterator[tuple[int, Any]]:
    """Read batches of whole prompts, padded on the right: a token never sees the padding behind it.

    Padding on the left would leave rows that attend to nothing, which some attention kernels do not survive.
    """
    import torch

    # A window counts places of the cache, padding among them: what follows a padded prompt would see too little.
    chained = [i for i, question in enumerate(questions) if question.chains != ((),)]
    apart = chained if _window(model) or not model.is_plain else []
    for i in apart:
        yield i, _whole(model, questions[i])
    rest = [i for i in range(len(questions)) if i not in set(apart)]
    for rows in _blocks([len(questions[i].ids) for i in rest], at_most=BATCH_TOKENS, is_padded=True):
        chosen = [questions[rest[row]] for row in rows]
        longest = max(len(question.ids) for question in chosen)
        parts = [_inputs(question, len(question.ids)) for question in chosen]
        along = {"input_ids", "attention_mask", *chosen[0].rendered.along}
        joined = {
            name: torch.cat([_padded(part[name], longest) if name in along else part[name] for part in parts])
            for name in parts[0]
        }
        model.rest()
        cache = model.new_cache(is_plain=True) if any(question.chains != ((),) for question in chosen) else None
        ends = [(row, len(question.ids) - 1) for row, question in enumerate(chosen)]
        root = model.run(joined, _at(len(chosen), longest, ends), cache=cache)
        found: list[dict[Ids, Any]] = [{(): logits} for logits in root.logits]
        if cache is not None:
            _follow(model, chosen, root, joined["attention_mask"], found)
        for row, question in zip(rows, chosen, strict=True):
            yield rest[row], torch.stack([found[row - rows[0]][chain] for chain in question.chains])


def _follow(
    model: LocalModel, questions: Sequence[Question], root: Seen, there: Any, found: Sequence[dict[Ids, Any]]
) -> None:
    """Read behind the chains of a batch of whole prompts, going on from its cache."""
    import torch

    leaves = [(row, leaf) for row, question in enumerate(questions) for leaf in _leaves(question.chains) if leaf]
    for block in _blocks([there.shape[1] + len(leaf) for _, leaf in leaves], at_most=BATCH_TOKENS, is_padded=True):
        chosen = [leaves[k] for k in block]
        of = torch.tensor([row for row, _ in chosen])
        longest = max(len(leaf) for _, leaf in chosen)
        cache = shared(root.cache)
        cache.batch_select_indices(of.to(model.system.device))
        follows = torch.cat([_padded(torch.ones(1, len(leaf), dtype=torch.long), longest) for _, leaf in chosen])
        inputs = {
            "input_ids": torch.cat([_padded(tokens(leaf), longest) for _, leaf in chosen]),
            "attention_mask": torch.cat([there[of], follows], dim=1),
            "position_ids": torch.tensor(root.next_positions)[of][:, None] + torch.arange(longest)[None],
        }
        seen = model.run(inputs, follows.bool(), cache=cache)
        places = [(row, leaf[: k + 1]) for row, leaf in chosen for k in range(len(leaf))]
        for (row, chain), logits in zip(places, seen.logits, strict=True):
            found[row][chain] = logits


# ---------------------------------------------------------------------------------------- common beginning


def _beginning(model: LocalModel, question: Question, n: int, *, is_plain: bool) -> Seen:
    """Pass the first n tokens of a prompt, with its picture, into a new cache."""
    model.rest()
    return model.run(_inputs(question, n), _at(1, n, [(0, n - 1)]), cache=model.new_cache(is_plain=is_plain))


def _packed(model: LocalModel, questions: Sequence[Question], n: int) -> Iterator[tuple[int, Any]]:
    """Read endings packed into rows on the beginning's cache; each token sees the beginning and its own ending.

    Endings that begin alike are one branch up to where they part: the row is a tree of tokens.
    """
    beginning = _beginning(model, questions[0], n, is_plain=True)
    for block in _blocks([_n_tokens(question, n) for question in questions], at_most=PACKED_TOKENS, is_padded=False):
        tree = _Tree()
        places = [
            [tree.add(questions[i].ids[n:] + chain) for chain in questions[i].chains] for i in block
        ]  # the last token of each
        sees = tree.sees()
        depth = np.asarray(tree.depths)
        rows = sorted({place for asked in places for place in asked})
        seen = model.run(
            {
                "input_ids": tokens(tree.ids),
                "attention_mask": _masks(model, sees, depth, n),
                "position_ids": tokens([beginning.next_positions[0] + int(step) for step in depth]),
            },
            _at(1, len(tree.ids), [(0, row) for row in rows]),
            cache=shared(beginning.cache),
        )
        number = {row: k for k, row in enumerate(rows)}
        for i, asked in zip(block, places, strict=True):
            yield i, seen.logits[[number[place] for place in asked]]


class _Tree:
    """Token sequences that share what they begin with."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.depths: list[int] = []
        self._parents: list[int] = []
        self._children: dict[tuple[int, int], int] = {}

    def add(self, sequence: Ids) -> int:
        """Add a sequence and return the place of its last token."""
        place = -1
        for depth, token in enumerate(sequence):
            child = self._children.get((place, token))
            if child is None:
                child = self._children[place, token] = len(self.ids)
                self.ids.append(token)
                self.depths.append(depth)
                self._parents.append(place)
            place = child
        return place

    def sees(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which tokens each token sees, shape (n, n): itself and what leads to it."""
        out = np.eye(len(self.ids), dtype=bool)
        for place, parent in enumerate(self._parents):  # a parent stands before its children
            if parent >= 0:
                out[place] |= out[parent]
        return out


def _masks(model: LocalModel, sees: Any, depth: Any, n: int) -> Any:
    """Return the mask of a packed row on a cache of n tokens, one for each kind of layer where there are several."""
    import torch

    text = model.config.get_text_config()
    window = _window(model)
    before = np.ones((len(depth), n), dtype=bool)
    distance = np.concatenate([np.arange(n), n + depth])
    near = (n + depth)[:, None] - distance[None, :] < (window or np.inf)
    full = np.concatenate([before, sees], axis=1)
    low = torch.finfo(getattr(torch, model.system.dtype)).min

    def additive(allowed: Any) -> Any:
        mask = torch.zeros(1, 1, *allowed.shape, dtype=getattr(torch, model.system.dtype))
        return mask.masked_fill_(torch.from_numpy(~allowed)[None, None], low)

    kinds = set(getattr(text, "layer_types", None) or ())
    if not kinds <= {"full_attention", "sliding_attention"}:
        raise NotImplementedError(f"layers of the kinds {', '.join(sorted(kinds))} take no block mask")
    if len(kinds) > 1:
        return {"full_attention": additive(full), "sliding_attention": additive(full & near)}
    return additive(full & near if window and kinds != {"full_attention"} else full)


def _on_cache(model: LocalModel, questions: Sequence[Question], n: int, way: Way) -> Iterator[tuple[int, Any]]:
    """Read endings as batches on the beginning's cache, padded on the right; one at a time under ``in_turn``."""
    import torch

    is_plain = way == "expanded"
    beginning = _beginning(model, questions[0], n, is_plain=is_plain)
    ends = [(i, chain) for i, question in enumerate(questions) for chain in _leaves(question.chains)]
    endings = [questions[i].ids[n:] + chain for i, chain in ends]
    found: dict[int, dict[Ids, Any]] = {}
    lengths = [n + len(ending) if is_plain else BATCH_TOKENS for ending in endings]
    for block in _blocks(lengths, at_most=BATCH_TOKENS, is_padded=True):
        longest = max(len(endings[k]) for k in block)
        ids = torch.cat([_padded(tokens(endings[k]), longest) for k in block])
        there = torch.cat([_padded(torch.ones(1, n + len(endings[k]), dtype=torch.long), n + longest) for k in block])
        wanted: list[tuple[int, int, int, Ids]] = []  # row, column, question, chain
        for row, k in enumerate(block):
            i, leaf = ends[k]
            for chain in questions[i].chains:
                if leaf[: len(chain)] == chain and chain not in found.setdefault(i, {}):
                    found[i][chain] = None
                    wanted.append((row, len(endings[k]) - len(leaf) + len(chain) - 1, i, chain))
        wanted.sort()  # logits come in the order of row and column
        cache = shared(beginning.cache, n_rows=len(block)) if is_plain else copy.deepcopy(beginning.cache)
        positions = (beginning.next_positions[0] + torch.arange(longest))[None].expand(len(block), -1)
        seen = model.run(
            {"input_ids": ids, "attention_mask": there, "position_ids": positions},
            _at(len(block), longest, [(row, column) for row, column, _, _ in wanted]),
            cache=cache,
        )
        for (_, _, i, chain), logits in zip(wanted, seen.logits, strict=True):
            found[i][chain] = logits
        for i in list(found):
            if len(found[i]) == len(questions[i].chains):
                yield i, torch.stack([found[i][chain] for chain in questions[i].chains])
                del found[i]


# ------------------------------------------------------------------------------------------------- details


def _window(model: LocalModel) -> int | None:
    """Return how far some layers look back, None where all see everything."""
    text = model.config.get_text_config()
    return getattr(text, "sliding_window", None) if getattr(text, "use_sliding_window", True) else None


def _leaves(chains: Sequence[Ids]) -> list[Ids]:
    """Return the chains that no other goes on from; reading them reads the others on the way."""
    return [chain for chain in chains if not any(other != chain and other[: len(chain)] == chain for other in chains)]


def _n_tokens(question: Question, n: int) -> int:
    return len(question.ids) - n + sum(len(chain) for chain in _leaves(question.chains))


def _blocks(lengths: Sequence[int], *, at_most: int, is_padded: bool) -> Iterator[list[int]]:
    """Yield runs of numbers whose lengths together, padded or not, stay within a bound; at least one each."""
    block: list[int] = []
    longest = total = 0
    for i, length in enumerate(lengths):
        longest, total = max(longest, length), total + length
        if block and (longest * (len(block) + 1) if is_padded else total) > at_most:
            yield block
            block, longest, total = [], length, length
        block.append(i)
    if block:
        yield block


def _inputs(question: Question, n: int) -> dict[str, Any]:
    """Return what the model takes for the first n tokens of a prompt."""
    rendered = question.rendered
    import torch

    inputs = {name: value[:, :n] if name in rendered.along else value for name, value in rendered.inputs.items()}
    return {"input_ids": tokens(rendered.ids[:n]), "attention_mask": torch.ones(1, n, dtype=torch.long), **inputs}


def _padded(row: Any, length: int) -> Any:
    import torch

    return torch.nn.functional.pad(row, (0, length - row.shape[1]))


def _at(n_rows: int, n_columns: int, places: Sequence[tuple[int, int]]) -> Any:
    import torch

    wanted = torch.zeros(n_rows, n_columns, dtype=torch.bool)
    for row, column in places:
        wanted[row, column] = True
    return wanted
