"""Brows, eyes, nose and mouth: where the action units are seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from measurand.simulate.faces_canvas import Canvas, mix, points
from measurand.simulate.faces_identities import Colour, Identity
from measurand.stats.inference import FloatArray

_DARK: Final = (26, 18, 18)
_BLACK: Final = (8, 4, 4)
_WHITE: Final = (252, 252, 250)
_INSIDE: Final = (92, 14, 24)
_TONGUE: Final = (222, 92, 104)
_TEAR: Final = (70, 150, 240)
_BAGS: Final = (86, 62, 98)

#: Skin whose levels add up to less is dark.
_DARK_SKIN: Final = 330

#: From one corner of an eye to the other, and of the mouth.
_ACROSS: Final = np.linspace(-1, 1, 25)
_ARCH: Final = np.sqrt(1 - _ACROSS**2)
_MIDDLE: Final = len(_ACROSS) // 2


def _crease(skin: Colour, share: float) -> Colour:
    """Return the colour of a crease; on dark skin it has to be nearly black to be seen."""
    return mix(skin, _BLACK, min(1.35 * share, 1.0)) if sum(skin) < _DARK_SKIN else mix(skin, _DARK, share)


def draw_eyes(canvas: Canvas, who: Identity, moved: Mapping[str, float], skin: Colour, side: int) -> None:
    """Draw both eyes with lids, bags, and tears; whatever covers them comes later."""
    for s in (-1, 1):
        _draw_eye(canvas, who, moved, skin, s, side)


def _draw_eye(canvas: Canvas, who: Identity, moved: Mapping[str, float], skin: Colour, s: int, side: int) -> None:
    x, y, r = s * who.eye_x, who.eye_y, who.eye_radius
    socket, line = mix(skin, _DARK, 0.17), mix(skin, _DARK, 0.8)
    if moved["bags"] > 0:
        arc = points(x + 1.05 * r * _ACROSS, y + 0.75 * r + 0.5 * r * _ARCH)
        canvas.stroke(arc, mix(skin, _BAGS, 0.75 * moved["bags"]), 0.11 + 0.06 * moved["bags"])
    # Of a closed eye the lid is seen, so that it stays as large as an open one.
    canvas.ellipse(x, y, 1.02 * r, 0.8 * r, socket)
    squeeze = moved["squeeze"]
    outward = s * _ACROSS
    # Lids meet on the lower one where the upper sinks, on the upper one where the lower rises, midway where screwed up.
    raised = moved["lid_upper"]
    open_above = 0.62 * (1 - squeeze) + (0.45 * raised if raised > 0 else 0.62 * raised + 0.45 * min(0.0, raised + 0.4))
    open_below = 0.62 * (1 - squeeze) - moved["lid_lower"]
    upper = y - r * (open_above * _ARCH + 0.34 * moved["lid_slant"] * outward * np.sqrt(_ARCH))
    lower = y + r * open_below * _ARCH
    upper, lower = np.minimum(upper, (upper + lower) / 2), np.maximum(lower, (upper + lower) / 2)
    if float((lower - upper).max()) > 0.1 * r:
        white = np.concatenate([points(x + r * _ACROSS, upper), points(x + r * _ACROSS, lower)[::-1]])
        canvas.fill(white, _WHITE)
        gaze = 0.36 * r * side * moved["gaze_side"], 0.32 * r * moved["gaze_down"]
        _draw_iris(canvas, who, (x, y), gaze, r * 0.56 * (1 + moved["pupil"]), (upper, lower))
        canvas.stroke(points(x + r * _ACROSS, lower), mix(skin, _DARK, 0.5), 0.035)
    canvas.stroke(points(x + r * _ACROSS, upper), mix(line, socket, squeeze), 0.075)
    if squeeze > 0:
        # Screwed up, an eye is an arrowhead that points to the nose.
        for way in (-1, 1):
            arm = points([x + s * 1.15 * r, x - s * 0.75 * r], [y + way * 0.62 * r * squeeze, y])
            canvas.stroke(arm, mix(socket, _DARK, squeeze), 0.085)
    if moved["tear"] > 0:
        size = moved["tear"]
        top, wide = y + r * max(open_below, 0.25), 0.02 + 0.1 * size
        canvas.fill(points([x, x + wide, x - wide], [top, top + 0.3 * size, top + 0.3 * size]), _TEAR)
        canvas.ellipse(x, top + 0.3 * size, wide, wide, _TEAR)


def _draw_iris(
    canvas: Canvas,
    who: Identity,
    eye: tuple[float, float],
    gaze: tuple[float, float],
    radius: float,
    lids: tuple[FloatArray, FloatArray],
) -> None:
    """Draw iris, pupil and glint, cut off by the lids."""
    angle = np.linspace(0, 2 * np.pi, 25)[:-1]
    r = who.eye_radius
    parts = ((radius, who.iris, 0.0), (radius * 0.55, (8, 6, 6), 0.0), (radius * 0.28, _WHITE, 0.4))
    for size, colour, aside in parts:
        x = eye[0] + gaze[0] + aside * radius + size * np.cos(angle)
        y = eye[1] + gaze[1] - aside * radius + size * np.sin(angle)
        place = np.clip((x - eye[0]) / r, -1, 1)
        low, high = (np.interp(place, _ACROSS, lid) for lid in lids)
        shape = points(eye[0] + r * place, np.clip(y, low, high))
        if float(np.ptp(shape[:, 1])) > 0.02:
            canvas.fill(shape, colour)


def draw_brows(canvas: Canvas, who: Identity, moved: Mapping[str, float], skin: Colour, side: int) -> None:
    """Draw both brows and the furrows between them."""
    colour = mix(who.hair, _DARK, 0.85 if sum(skin) < _DARK_SKIN else 0.35 if sum(who.hair) < 330 else 0.6)
    knit = moved["brow_knit"]
    for s in (-1, 1):
        skew = s * side * moved["brow_skew"]
        lift = 0.24 * max(skew, 0.0) + 0.12 * min(skew, 0.0)
        rest = who.eye_y - who.eye_radius - 0.15
        inner = rest - 0.165 * moved["brow_inner"] - lift
        outer = rest + 0.03 - 0.165 * moved["brow_outer"] - lift
        middle = (inner + outer) / 2 - 0.06 - 0.08 * max(skew, 0.0)
        near = who.eye_x - (0.95 + 0.3 * knit) * who.eye_radius
        far = who.eye_x + 1.2 * who.eye_radius
        share = np.linspace(0, 1, 9)
        height = (
            (1 - share) ** 2 * inner + 2 * share * (1 - share) * (2 * middle - (inner + outer) / 2) + share**2 * outer
        )
        across = s * (near + (far - near) * share)
        half = who.brow_width * (0.62 - 0.28 * share)
        shape = np.concatenate([points(across, height - half), points(across, height + half)[::-1]])
        canvas.fill(shape, colour)
        if knit > 0:
            furrow = points([s * 0.06, s * 0.05], [rest - 0.02 - 0.1 * knit, rest + 0.12 * knit])
            canvas.stroke(furrow, _crease(skin, 0.65 * min(knit, 1.0)), 0.055)


def draw_nose(canvas: Canvas, who: Identity, moved: Mapping[str, float], skin: Colour) -> None:
    """Draw the nose, its wrinkles, and raised cheeks."""
    line = mix(skin, _DARK, 0.4)
    top, tip = who.eye_y + 0.14, who.eye_y + 0.14 + who.nose_length
    tip -= 0.05 * moved["nose"]
    wide = who.nose_width * (1 + 0.5 * moved["nose"])
    around = np.linspace(0.15 * np.pi, 0.85 * np.pi, 9)
    canvas.stroke(points(wide * np.cos(around), tip - 0.02 + 0.05 * np.sin(around)), line, 0.055)
    canvas.stroke(points([0.3 * wide, 0.55 * wide], [top, tip - 0.06]), line, 0.04)
    if moved["nose"] > 0:
        crease = _crease(skin, 0.7 * moved["nose"])
        for k in range(3):
            at = top - 0.1 + 0.1 * k
            for s in (-1, 1):
                canvas.stroke(points([s * 0.035, s * (0.14 + 0.02 * k)], [at, at - 0.055]), crease, 0.05)
    if moved["cheek"] > 0:
        for s in (-1, 1):
            x, y = s * (who.eye_x + 0.1), who.eye_y + 1.35 * who.eye_radius
            arc = points(x + 0.22 * _ACROSS, y + 0.08 - 0.12 * _ARCH)
            canvas.stroke(arc, _crease(skin, 0.5 * moved["cheek"]), 0.05)


def draw_mouth(canvas: Canvas, who: Identity, moved: Mapping[str, float], skin: Colour, side: int) -> None:
    """Draw mouth, teeth and tongue, and the folds that a smirk or pursed lips make."""
    pucker, aside, clench = moved["pucker"], side * moved["mouth_aside"], moved["clench"]
    wide = who.mouth_width * (1 + 0.5 * moved["mouth_width"]) * (1 - 0.62 * pucker)
    lip = mix(mix(skin, (176, 40, 52), 0.62), _DARK, 0.12)
    shift = 0.16 * aside
    corner = 0.36 * moved["corner"]
    middle = who.mouth_y - 0.02 * moved["mouth_open"] + corner * (0.42 - _ACROSS**2) - 0.13 * aside * _ACROSS
    middle = middle + 0.08 * moved["wave"] * np.sin(2.6 * np.pi * _ACROSS)
    middle = middle - 0.38 * moved["smirk"] * np.clip(side * _ACROSS, 0, 1) ** 1.4
    lift = 0.19 * moved["lip_upper"] * np.clip(1 - (_ACROSS / 0.75) ** 2, 0, 1)
    # The more the teeth are clenched, the more the mouth is a rectangle.
    squareness = 2 + 4 * max(clench, 0.5 * moved["wave"])
    arch = np.clip(1 - np.abs(_ACROSS) ** squareness, 0, 1) ** (1 / squareness)
    opening = 0.5 * max(0.0, moved["mouth_open"]) + 0.16 * pucker
    # A laughing mouth opens downwards from its upper lip, any other one both ways.
    smile = min(max(moved["corner"] / 0.6, 0.0), 1.0)
    above = (0.36 - 0.24 * smile) * opening
    top = middle - above * arch - lift
    bottom = middle + (opening - above) * arch
    x = shift + wide * _ACROSS
    thick = 0.075 + 0.05 * pucker
    gap = bottom - top
    if float(gap.max()) > 0.04:
        canvas.fill(np.concatenate([points(x, top), points(x, bottom)[::-1]]), _INSIDE)
        if smile > 0:
            hump = np.maximum(top, bottom - 0.34 * smile * opening * np.clip(1 - (_ACROSS / 0.6) ** 2, 0, 1))
            canvas.fill(np.concatenate([points(x, hump), points(x, bottom)[::-1]]), _TONGUE)
        if clench > 0:
            canvas.fill(
                np.concatenate([points(x, top), points(x, bottom)[::-1]]), mix(_INSIDE, _WHITE, min(1, 1.6 * clench))
            )
            canvas.stroke(points(x, (top + bottom) / 2), (120, 100, 100), 0.03)
            for k in (6, 9, 12, 15, 18):
                canvas.stroke(points([x[k], x[k]], [top[k], bottom[k]]), (150, 132, 132), 0.022)
        elif moved["teeth"] > 0:
            edge = np.minimum(bottom, top + 0.15 * moved["teeth"] * np.sqrt(_ARCH))
            canvas.fill(np.concatenate([points(x, top), points(x, edge)[::-1]]), _WHITE)
    if moved["tongue"] > 0:
        out, half = 0.3 * moved["tongue"], 0.62 * wide
        tongue = bottom[_MIDDLE] - 0.02 + np.concatenate([[0.0], out * np.clip(_ARCH[1:-1], 0.35, 1), [0.0]])
        canvas.fill(points(shift + half * _ACROSS, tongue), _TONGUE)
        canvas.stroke(
            points([shift, shift], [bottom[_MIDDLE], bottom[_MIDDLE] + 0.6 * out]), mix(_TONGUE, _DARK, 0.4), 0.03
        )
    canvas.stroke(points(x, bottom), lip, thick)
    canvas.stroke(points(x, top), lip if float(gap.max()) > 0.04 else mix(lip, _DARK, 0.35), thick)
    if moved["smirk"] > 0:
        arc = np.linspace(-0.35 * np.pi, 0.35 * np.pi, 9)
        at_x, at_y = shift + side * (wide + 0.06), float(middle[-1 if side > 0 else 0])
        path = points(at_x + side * 0.1 * np.cos(arc), at_y + 0.2 * np.sin(arc))
        canvas.stroke(path, _crease(skin, 0.55 * moved["smirk"]), 0.06)
    if pucker > 0:
        for angle in np.linspace(0, 2 * np.pi, 11)[:-1]:
            way = np.array([np.cos(angle), np.sin(angle)])
            centre = np.array([shift, float(middle[_MIDDLE])])
            ends = centre + np.outer([0.24, 0.24 + 0.16 * pucker], way)
            canvas.stroke(ends, _crease(skin, 0.65 * pucker), 0.05)
