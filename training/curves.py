"""The loss curves of a training as a small picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import numpy as np

_WIDTH: Final = 720
_HEIGHT: Final = 200
_MARGIN: Final = 48
#: Neighbours that a curve's point is the mean of.
_SMOOTH: Final = 5
_COLOURS: Final = {"loss": "#1f77b4", "yes_no": "#d62728", "rating": "#2ca02c", "regression": "#9467bd"}
_TITLES: Final = {
    "vision": "Phase 1: regression (squared error)",
    "binding": "Phase 2: short questions (nats a token)",
    "language": "Phase 3: answers (nats a token)",
}


def write_curves(log: Path, file: Path) -> None:
    """Draw the losses that a log holds, a panel for each phase."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    panels: list[str] = []
    for phase in _TITLES:
        own = [line for line in lines if line["phase"] == phase and "validation" not in line]
        if own:
            panels.append(_panel(phase, own, top=len(panels) * (_HEIGHT + _MARGIN)))
    height = len(panels) * (_HEIGHT + _MARGIN) + _MARGIN
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12">\n<rect width="{_WIDTH}" height="{height}" fill="#fff"/>\n' + "\n".join(panels) + "\n</svg>\n"
    )


def _panel(phase: str, lines: list[dict[str, float]], *, top: int) -> str:
    curves = {name: [(one["step"], one[name]) for one in lines if name in one] for name in _COLOURS}
    shown = {name: _smooth(np.array(points)) for name, points in curves.items() if points}
    highest = max(float(points[:, 1].max()) for points in shown.values())
    last = lines[-1]["step"]
    x0, y0, y1 = _MARGIN, top + _MARGIN + _HEIGHT - _MARGIN // 2, top + _MARGIN
    out = [
        f'<text x="{x0}" y="{y1 - 10}" font-weight="bold">{_TITLES[phase]}</text>',
        f'<path d="M{x0} {y1}V{y0}H{_WIDTH - _MARGIN}" fill="none" stroke="#888"/>',
        f'<text x="{x0 - 6}" y="{y1 + 8}" text-anchor="end">{highest:.2g}</text>',
        f'<text x="{x0 - 6}" y="{y0}" text-anchor="end">0</text>',
        f'<text x="{_WIDTH - _MARGIN}" y="{y0 + 16}" text-anchor="end">step {last:g}</text>',
    ]
    for k, (name, points) in enumerate(shown.items()):
        x = x0 + points[:, 0] / last * (_WIDTH - 2 * _MARGIN)
        y = y0 - points[:, 1] / highest * (y0 - y1)
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        out.append(f'<polyline points="{path}" fill="none" stroke="{_COLOURS[name]}" stroke-width="1.5"/>')
        out.append(
            f'<text x="{_WIDTH - _MARGIN - 100 * k}" y="{y1 - 10}" fill="{_COLOURS[name]}" text-anchor="end">'
            f"{name.replace('_', '/')}</text>"
        )
    return "\n".join(out)


def _smooth(points: np.ndarray) -> np.ndarray:
    width = min(_SMOOTH, len(points))
    mean = np.convolve(points[:, 1], np.ones(width) / width, mode="valid")
    return np.column_stack([points[width // 2 : width // 2 + len(mean), 0], mean])
