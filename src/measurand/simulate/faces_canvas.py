"""A canvas in face coordinates: filled shapes and strokes, drawn larger than they are shown."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from measurand.simulate.faces_identities import Colour
from measurand.stats.inference import FloatArray

Pixels = npt.NDArray[np.uint8]

#: How many times larger a picture is drawn than it is shown: edges get so many levels of grey along each axis.
_OVERSAMPLING: Final = 4

_CIRCLE: Final = np.stack([np.cos(np.linspace(0, 2 * np.pi, 29)[:-1]), np.sin(np.linspace(0, 2 * np.pi, 29)[:-1])], 1)


def mix(one: Colour, other: Colour, share: float) -> Colour:
    """Return a colour between two; `share` is the other's.

    Examples
    --------
    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100, 50, 25)
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def points(x: Sequence[float] | FloatArray, y: Sequence[float] | FloatArray) -> FloatArray:
    """Return points from their coordinates, shape (n, 2)."""
    return np.stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)], axis=1)


class Canvas:
    """A picture to draw on, in head radii from the head's middle, y downwards.

    Parameters
    ----------
    size : int
        Width and height in pixels.
    radius : float
        The head's radius in picture widths.
    centre : tuple of float
        The head's middle, in picture widths from the top left corner.
    turn : float
        Roll of the head in degrees, clockwise.
    """

    def __init__(self, size: int, radius: float, centre: tuple[float, float], turn: float) -> None:
        from PIL import Image, ImageDraw

        self._width = size * _OVERSAMPLING
        self._image = Image.new("RGB", (self._width, self._width))
        self._draw = ImageDraw.Draw(self._image)
        cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
        self._map = radius * self._width * np.array([[cos, sin], [-sin, cos]])
        self._middle = self._width * np.array(centre)

    def shifted(self, x: float, y: float) -> Canvas:
        """Return the same picture with its origin moved: a head that turns moves its features, not its outline."""
        moved = copy.copy(self)
        moved._middle = self._middle + np.array([x, y]) @ self._map
        return moved

    def backdrop(self, above: Colour, below: Colour) -> None:
        """Fill the picture with a gradient from top to bottom, in sixteen bands."""
        edges = np.linspace(0, self._width, 17).round().astype(int).tolist()
        for band, (top, bottom) in enumerate(itertools.pairwise(edges)):
            self._draw.rectangle((0, top, self._width, bottom), fill=mix(above, below, band / 15))

    def fill(self, shape: FloatArray, colour: Colour) -> None:
        """Fill a polygon, shape (n, 2)."""
        self._draw.polygon((shape @ self._map + self._middle).ravel().tolist(), fill=colour)

    def ellipse(self, x: float, y: float, across: float, down: float, colour: Colour) -> None:
        """Fill an ellipse with these half-axes."""
        self.fill(np.array([x, y]) + _CIRCLE * (across, down), colour)

    def ring(self, x: float, y: float, across: float, down: float, colour: Colour, width: float) -> None:
        """Draw the outline of an ellipse."""
        around = np.concatenate([_CIRCLE, _CIRCLE[:1]])
        half = width / 2
        outer, inner = around * (across + half, down + half), around * (across - half, down - half)
        self.fill(np.array([x, y]) + np.concatenate([outer, inner[::-1]]), colour)

    def stroke(self, path: FloatArray, colour: Colour, width: float) -> None:
        """Draw a smooth line of one width with round ends."""
        along = np.gradient(path, axis=0)
        normal = along[:, ::-1] * (-1, 1) / np.maximum(np.hypot(along[:, :1], along[:, 1:]), 1e-9)
        half = width / 2
        self.fill(np.concatenate([path + half * normal, (path - half * normal)[::-1]]), colour)
        for x, y in (path[0], path[-1]):
            self.ellipse(float(x), float(y), half, half, colour)

    def pixels(self) -> FloatArray:
        """Return the picture in its own size, levels 0 to 255, shape (size, size, 3)."""
        return np.asarray(self._image.reduce(_OVERSAMPLING), dtype=np.float64)
