"""A face drawn from action units: head, hair and what lies on the skin, then light and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from measurand.simulate.faces_canvas import Canvas, Pixels, mix, points
from measurand.simulate.faces_expressions import actions_of
from measurand.simulate.faces_features import draw_brows, draw_eyes, draw_mouth, draw_nose
from measurand.simulate.faces_identities import Colour, Identity, Scene
from measurand.stats.inference import FloatArray

_DARK: Final = (26, 18, 18)
_RED: Final = (214, 44, 44)
_BLUE: Final = (96, 128, 205)
_GREEN: Final = (112, 150, 60)
_ROSE: Final = (232, 74, 92)
_SWEAT: Final = (88, 178, 246)

_AROUND: Final = np.linspace(0, 2 * np.pi, 49)[:-1]


def draw_face(who: Identity, scene: Scene, intensities: Mapping[str, float], noise: FloatArray) -> Pixels:
    """Return the picture of a face.

    Parameters
    ----------
    who : Identity
        The person.
    scene : Scene
        How the picture is taken.
    intensities : mapping
        Expression to its intensity, 0 to 1.
    noise : ndarray, shape (size, size, 3)
        Standard normal; its shape is the picture's.

    Returns
    -------
    ndarray of uint8, shape (size, size, 3)
        Red, green, blue.

    Examples
    --------
    >>> from measurand.simulate.faces_identities import draw_identity, draw_scene
    >>> rng = np.random.default_rng(7)
    >>> who, scene = draw_identity(rng), draw_scene(rng)
    >>> draw_face(who, scene, {"fear": 0.8}, np.zeros((64, 64, 3))).shape
    (64, 64, 3)
    """
    size = len(noise)
    moved = actions_of(intensities, who.resting)
    turn = scene.turn + 11.0 * scene.side * moved["tilt"]
    centre = (0.5 + scene.shift[0], 0.52 + scene.shift[1] + 0.025 * moved["bow"])
    canvas = Canvas(size, scene.radius, centre, turn)
    skin = mix(mix(who.skin, _RED, 0.5 * moved["flush"]), _GREEN, 0.5 * moved["sick"])
    canvas.backdrop(scene.above, scene.below)
    _draw_behind(canvas, who, scene, skin)
    _draw_head(canvas, who, moved, skin)
    _draw_hair(canvas, who)
    inner = canvas.shifted(scene.yaw, scene.pitch + 0.1 * moved["bow"])
    draw_eyes(inner, who, moved, skin, scene.side)
    draw_nose(inner, who, moved, skin)
    draw_brows(inner, who, moved, skin, scene.side)
    draw_mouth(inner, who, moved, skin, scene.side)
    if who.has_glasses:
        _draw_glasses(inner, who)
    if moved["sweat"] > 0:
        _draw_sweat(inner, who, moved["sweat"], scene.side)
    return _lit(canvas.pixels(), scene, noise)


def _head(who: Identity, scale: float = 1.0) -> FloatArray:
    """Return the outline of the head, narrower at the jaw."""
    y = np.sin(_AROUND)
    x = np.cos(_AROUND) * who.aspect * (1 - who.jaw * np.clip(y, 0, 1) ** 1.5)
    return scale * points(x, 1.06 * y)


def _draw_behind(canvas: Canvas, who: Identity, scene: Scene, skin: Colour) -> None:
    """Draw what the head hides: hair that hangs down, neck, shoulders, ears."""
    if who.style in ("long", "bob"):
        length = 1.5 if who.style == "long" else 0.75
        wide = who.aspect + 0.16
        shape = points(
            [-wide, -wide * 0.9, wide * 0.9, wide, wide, -wide], [length, -0.6, -0.6, length, length, length]
        )
        canvas.fill(shape, mix(who.hair, _DARK, 0.25))
        canvas.ellipse(0, -0.25, wide, 0.98, mix(who.hair, _DARK, 0.25))
    if who.style == "bun":
        canvas.ellipse(0, -1.12, 0.34, 0.26, mix(who.hair, _DARK, 0.2))
    canvas.fill(points([-0.34, 0.34, 0.34, -0.34], [0.7, 0.7, 1.5, 1.5]), mix(skin, _DARK, 0.25))
    canvas.ellipse(0, 1.75, 1.15, 0.6, scene.clothes)
    for s in (-1, 1):
        canvas.ellipse(s * who.aspect * 0.99, 0.02, 0.13, 0.2, mix(skin, _DARK, 0.15))


def _draw_head(canvas: Canvas, who: Identity, moved: Mapping[str, float], skin: Colour) -> None:
    canvas.fill(_head(who, 1.025), mix(skin, _DARK, 0.5))
    canvas.fill(_head(who), skin)
    if moved["pallor"] > 0:
        head = _head(who)
        level = who.eye_y + 0.12
        upper = head[head[:, 1] < level]
        for step in range(3):
            # In three bands, so that it ends softly.
            cut = np.minimum(upper, [np.inf, level - 0.22 * step])
            canvas.fill(
                cut[np.argsort(np.arctan2(cut[:, 1] - level, cut[:, 0]))],
                mix(skin, _BLUE, (0.3 + 0.15 * step) * moved["pallor"]),
            )
    if moved["blush"] > 0:
        for s in (-1, 1):
            for radius, share in ((0.27, 0.4), (0.19, 0.7)):
                x = s * (who.eye_x + 0.16)
                canvas.ellipse(x, who.eye_y + 0.42, radius, 0.7 * radius, mix(skin, _ROSE, share * moved["blush"]))
    if who.has_beard:
        outline = _head(who)
        jaw = outline[outline[:, 1] > 0.1]
        canvas.fill(jaw[np.argsort(jaw[:, 0])], mix(who.hair, skin, 0.15))
        canvas.ellipse(0, 0.22, 0.8 * who.aspect, 0.66, skin)


def _draw_hair(canvas: Canvas, who: Identity) -> None:
    """Draw the hair in front of the head, which leaves the brows free."""
    if who.style == "bald":
        return
    outline = _head(who, 1.07)
    top = outline[outline[:, 1] < who.hairline + 0.32]
    order = np.argsort(top[:, 0])
    top = top[order]
    x = np.linspace(top[-1, 0], top[0, 0], 13)
    share = x / max(abs(float(top[0, 0])), 1e-9)
    if who.style == "parted":
        edge = who.hairline + 0.32 * np.where(share < 0.35, (0.35 - share) / 1.35, (share - 0.35) / 0.65) ** 1.3
    elif who.style == "bob":
        edge = who.hairline + 0.1 + 0.22 * share**4
    else:
        edge = who.hairline + 0.32 * share**4
    canvas.fill(np.concatenate([top, points(x, edge)]), who.hair)
    if who.style == "curly":
        for angle in np.linspace(1.12 * np.pi, 1.88 * np.pi, 9):
            canvas.ellipse(float(who.aspect * 1.02 * np.cos(angle)), float(1.02 * np.sin(angle)), 0.23, 0.22, who.hair)


def _draw_glasses(canvas: Canvas, who: Identity) -> None:
    frame = mix(who.hair, (20, 20, 24), 0.75)
    r = 1.42 * who.eye_radius
    for s in (-1, 1):
        canvas.ring(s * who.eye_x, who.eye_y, r, r, frame, 0.04)
        canvas.stroke(points([s * (who.eye_x + r), s * who.aspect], [who.eye_y, who.eye_y - 0.04]), frame, 0.04)
    inner = who.eye_x - r
    canvas.stroke(points([-inner, 0, inner], [who.eye_y, who.eye_y - 0.03, who.eye_y]), frame, 0.045)


def _draw_sweat(canvas: Canvas, who: Identity, amount: float, side: int) -> None:
    x, y = side * 0.8 * who.aspect, who.eye_y - 0.36
    r = 0.05 + 0.1 * amount
    canvas.fill(points([x, x + r, x - r], [y - 0.32 * amount, y, y]), _SWEAT)
    canvas.ellipse(x, y, r, r, _SWEAT)
    canvas.ellipse(x - 0.3 * r, y, 0.3 * r, 0.35 * r, (226, 244, 255))


def _lit(picture: FloatArray, scene: Scene, noise: FloatArray) -> Pixels:
    place = np.linspace(-1, 1, len(picture))
    across, down = np.cos(scene.direction) * place[None, :], np.sin(scene.direction) * place[:, None]
    light = scene.brightness * (1 + scene.gradient * (across + down))
    tint = np.array([1 + scene.warmth, 1.0, 1 - scene.warmth])
    seen = picture * light[:, :, None] * tint + scene.noise * noise
    return np.asarray(np.clip(np.rint(seen), 0, 255), dtype=np.uint8)
