"""Whose face it is and how it was taken: everything in a picture that is not its expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Colour = tuple[int, int, int]

_SKINS: Final = (
    (255, 224, 196),
    (247, 208, 172),
    (236, 188, 146),
    (219, 166, 120),
    (196, 142, 98),
    (166, 114, 76),
    (134, 88, 58),
    (108, 70, 48),
)
_HAIRS: Final = (
    (28, 22, 20),
    (58, 38, 26),
    (96, 62, 36),
    (140, 92, 48),
    (206, 164, 88),
    (168, 74, 36),
    (150, 150, 152),
    (72, 60, 110),
)
_IRISES: Final = ((70, 44, 26), (50, 84, 124), (56, 96, 62), (92, 92, 96), (104, 70, 30))

STYLES: Final = ("bald", "short", "parted", "long", "bob", "curly", "bun")

#: Action units in which faces at rest differ, and the standard deviation of each.
_RESTING: Final = {
    "brow_inner": 0.1,
    "brow_outer": 0.1,
    "lid_upper": 0.07,
    "lid_lower": 0.07,
    "corner": 0.08,
    "mouth_width": 0.08,
}


class Identity(NamedTuple):
    """A person's face; lengths are in head radii from the middle of the head, y downwards."""

    skin: Colour
    hair: Colour
    iris: Colour
    style: str
    has_glasses: bool
    has_beard: bool
    aspect: float
    jaw: float
    hairline: float
    eye_x: float
    eye_y: float
    eye_radius: float
    brow_width: float
    nose_length: float
    nose_width: float
    mouth_y: float
    mouth_width: float
    resting: Mapping[str, float]


@dataclass(frozen=True)
class Scene:
    """How a picture was taken.

    Parameters
    ----------
    turn : float
        Roll of the head in degrees, clockwise.
    shift : tuple of float
        The head's middle from the picture's, in picture widths.
    radius : float
        The head's radius in picture widths.
    yaw, pitch : float
        How far the features sit from the middle of the head, in head radii.
    side : int
        The face's own side, 1 or -1: which brow goes up, which way it looks.
    above, below, clothes : tuple of int
        Colours of the background at its top and bottom, and of the clothes.
    brightness, gradient, direction, warmth : float
        Light: its strength, how much stronger on one side, from which direction (radians), and how warm.
    noise : float
        Standard deviation of the sensor's noise, in levels of 255.
    """

    turn: float
    shift: tuple[float, float]
    radius: float
    yaw: float
    pitch: float
    side: int
    above: Colour
    below: Colour
    clothes: Colour
    brightness: float
    gradient: float
    direction: float
    warmth: float
    noise: float


def draw_identity(rng: np.random.Generator) -> Identity:
    """Return a person, drawn at random.

    Examples
    --------
    >>> draw_identity(np.random.default_rng(7)).style in STYLES
    True
    """
    return Identity(
        skin=_near(_SKINS[int(rng.integers(len(_SKINS)))], rng, 8),
        hair=_near(_HAIRS[int(rng.integers(len(_HAIRS)))], rng, 10),
        iris=_IRISES[int(rng.integers(len(_IRISES)))],
        style=STYLES[int(rng.integers(len(STYLES)))],
        has_glasses=bool(rng.random() < 0.2),
        has_beard=bool(rng.random() < 0.18),
        aspect=float(rng.uniform(0.84, 1.0)),
        jaw=float(rng.uniform(0.02, 0.24)),
        hairline=float(rng.uniform(-0.9, -0.8)),
        eye_x=float(rng.uniform(0.38, 0.44)),
        eye_y=float(rng.uniform(-0.16, -0.1)),
        eye_radius=float(rng.uniform(0.22, 0.26)),
        brow_width=float(rng.uniform(0.085, 0.13)),
        nose_length=float(rng.uniform(0.2, 0.3)),
        nose_width=float(rng.uniform(0.07, 0.12)),
        mouth_y=float(rng.uniform(0.5, 0.56)),
        mouth_width=float(rng.uniform(0.38, 0.46)),
        resting={action: float(rng.normal(0.0, sd)) for action, sd in _RESTING.items()},
    )


def draw_scene(rng: np.random.Generator) -> Scene:
    """Return how a picture is taken, drawn at random.

    Examples
    --------
    >>> draw_scene(np.random.default_rng(7)).side in (-1, 1)
    True
    """
    grey = rng.uniform(60, 230)
    above = np.clip(grey + rng.uniform(-60, 60, 3), 20, 250)
    below = np.clip(above + rng.uniform(-40, 40, 3), 20, 250)
    return Scene(
        turn=float(np.clip(rng.normal(0.0, 4.0), -10.0, 10.0)),
        shift=(float(rng.uniform(-0.03, 0.03)), float(rng.uniform(-0.02, 0.03))),
        radius=float(rng.uniform(0.41, 0.455)),
        yaw=float(np.clip(rng.normal(0.0, 0.035), -0.08, 0.08)),
        pitch=float(np.clip(rng.normal(0.0, 0.02), -0.05, 0.05)),
        side=1 if rng.random() < 0.5 else -1,
        above=_colour(above),
        below=_colour(below),
        clothes=_colour(rng.integers(20, 230, 3)),
        brightness=float(rng.uniform(0.82, 1.02)),
        gradient=float(rng.uniform(0.0, 0.12)),
        direction=float(rng.uniform(0.0, 2 * np.pi)),
        warmth=float(rng.uniform(-0.04, 0.04)),
        noise=float(rng.uniform(0.0, 5.0)),
    )


def _near(colour: Colour, rng: np.random.Generator, spread: int) -> Colour:
    return _colour(np.clip(np.array(colour) + rng.integers(-spread, spread + 1, 3), 0, 255))


def _colour(values: npt.NDArray[Any]) -> Colour:
    red, green, blue = (int(value) for value in values)
    return red, green, blue
