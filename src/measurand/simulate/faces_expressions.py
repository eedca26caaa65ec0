"""What an expression does to a face: the action units that each moves, and by how much at full intensity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: Action unit to what it moves, its least and its largest value. 0 is at rest; 1 is a face's far end, or all of it.
ACTIONS: Final[Mapping[str, tuple[str, float, float]]] = {
    "brow_inner": ("inner ends of the brows up", -1.2, 1.3),
    "brow_outer": ("outer ends of the brows up", -1.2, 1.3),
    "brow_knit": ("brows drawn together, with furrows between", 0.0, 1.2),
    "brow_skew": ("one brow up, the other down", 0.0, 1.2),
    "lid_upper": ("upper lids up; at -1 down over the eyes", -1.2, 1.0),
    "lid_lower": ("lower lids up over the eyes", -0.6, 1.2),
    "lid_slant": ("upper lids slant towards the nose; below 0 away from it", -1.0, 1.0),
    "squeeze": ("eyes screwed up, with creases at the corners", 0.0, 1.0),
    "pupil": ("irises grow; below 0 shrink", -0.6, 0.5),
    "gaze_side": ("gaze to the face's own side", -1.0, 1.0),
    "gaze_down": ("gaze down; below 0 up", -1.0, 1.0),
    "bags": ("dark bags under the eyes", 0.0, 1.0),
    "nose": ("wrinkles on the nose", 0.0, 1.0),
    "cheek": ("cheeks raised", 0.0, 1.0),
    "corner": ("corners of the mouth up; below 0 down", -1.2, 1.2),
    "smirk": ("one corner of the mouth up, with a fold beside it", 0.0, 1.1),
    "mouth_open": ("jaw down", 0.0, 1.2),
    "mouth_width": ("mouth wider; below 0 narrower", -0.8, 1.0),
    "mouth_aside": ("mouth aside and aslant", 0.0, 1.0),
    "wave": ("mouth quivers", 0.0, 1.0),
    "pucker": ("lips pursed, with creases around", 0.0, 1.0),
    "lip_upper": ("upper lip raised", 0.0, 1.0),
    "teeth": ("upper teeth shown", 0.0, 1.0),
    "clench": ("both rows of teeth shown, closed", 0.0, 1.0),
    "tongue": ("tongue out", 0.0, 1.0),
    "tear": ("tears under the eyes", 0.0, 1.0),
    "sweat": ("a bead of sweat on the temple", 0.0, 1.0),
    "blush": ("red cheeks", 0.0, 1.0),
    "flush": ("the whole face red", 0.0, 1.0),
    "pallor": ("the upper face pale blue", 0.0, 1.0),
    "sick": ("the whole face green", 0.0, 1.0),
    "tilt": ("head tilted to its own side", -1.0, 1.0),
    "bow": ("head bowed; below 0 thrown back", -1.0, 1.0),
}

#: Expression to its action units at intensity 1. Names are of the first paper's taxonomy, in lower case and without
#: their second halves (Astonishment/Surprise, Fatigue/Exhaustion).
EXPRESSIONS: Final[Mapping[str, Mapping[str, float]]] = {
    "amusement": {
        "lid_lower": 1.1,
        "corner": 1.0,
        "mouth_open": 0.75,
        "mouth_width": 0.45,
        "teeth": 0.9,
        "cheek": 0.9,
        "brow_inner": 0.25,
        "brow_outer": 0.25,
        "tilt": 0.5,
    },
    "elation": {
        "lid_upper": 0.6,
        "lid_lower": -0.3,
        "pupil": 0.4,
        "corner": 1.15,
        "mouth_open": 0.9,
        "mouth_width": 0.6,
        "teeth": 1.0,
        "brow_inner": 0.95,
        "brow_outer": 0.95,
        "bow": -0.4,
    },
    "contentment": {
        "lid_upper": -1.1,
        "corner": 0.9,
        "mouth_width": 0.1,
        "cheek": 0.35,
        "blush": 0.35,
        "brow_inner": 0.3,
        "brow_outer": 0.15,
    },
    "sadness": {
        "brow_inner": 0.95,
        "brow_outer": -0.9,
        "lid_upper": -0.35,
        "lid_slant": -0.8,
        "gaze_down": 0.8,
        "corner": -1.15,
        "mouth_width": -0.15,
        "tear": 1.0,
        "bow": 0.4,
    },
    "pain": {
        "squeeze": 1.0,
        "brow_inner": -0.75,
        "brow_outer": 0.15,
        "brow_knit": 1.0,
        "nose": 0.5,
        "corner": -0.45,
        "mouth_open": 0.45,
        "mouth_width": 0.45,
        "clench": 1.0,
        "sweat": 0.9,
        "tilt": -0.5,
    },
    "anger": {
        "brow_inner": -1.1,
        "brow_outer": 0.75,
        "brow_knit": 0.8,
        "lid_slant": 1.0,
        "lid_lower": 0.3,
        "lid_upper": -0.1,
        "pupil": -0.2,
        "corner": -0.8,
        "mouth_open": 0.4,
        "mouth_width": 0.1,
        "clench": 0.85,
        "flush": 0.8,
        "bow": 0.3,
    },
    "contempt": {
        "lid_upper": -0.6,
        "gaze_side": -0.7,
        "gaze_down": 0.2,
        "smirk": 1.1,
        "brow_inner": -0.35,
        "brow_outer": -0.1,
        "nose": 0.2,
        "tilt": -0.35,
        "bow": -0.7,
    },
    "fear": {
        "brow_inner": 1.1,
        "brow_outer": 0.2,
        "brow_knit": 0.3,
        "lid_upper": 0.9,
        "lid_lower": -0.5,
        "pupil": -0.6,
        "mouth_open": 0.4,
        "mouth_width": 0.35,
        "corner": -0.5,
        "wave": 1.0,
        "sweat": 0.8,
        "pallor": 0.9,
    },
    "astonishment": {
        "brow_inner": 1.1,
        "brow_outer": 1.25,
        "lid_upper": 0.85,
        "lid_lower": -0.4,
        "mouth_open": 1.2,
        "mouth_width": -0.5,
    },
    "disgust": {
        "nose": 1.0,
        "lip_upper": 1.0,
        "tongue": 0.9,
        "lid_lower": 0.6,
        "lid_upper": -0.25,
        "brow_inner": -0.7,
        "brow_outer": -0.2,
        "corner": -0.7,
        "mouth_open": 0.25,
        "sick": 0.8,
        "tilt": 0.3,
    },
    "fatigue": {
        "lid_upper": -0.95,
        "lid_slant": -0.3,
        "bags": 1.0,
        "mouth_open": 1.0,
        "mouth_width": -0.35,
        "brow_inner": 0.35,
        "brow_outer": -0.35,
        "bow": 0.7,
        "tilt": 0.6,
    },
    "doubt": {
        "brow_skew": 1.1,
        "brow_knit": 0.3,
        "gaze_side": 0.9,
        "gaze_down": -0.6,
        "mouth_aside": 1.0,
        "corner": -0.35,
        "mouth_width": -0.3,
        "tilt": 0.5,
    },
    "embarrassment": {
        "blush": 1.0,
        "flush": 0.2,
        "gaze_down": 1.0,
        "gaze_side": -0.8,
        "lid_upper": -0.3,
        "brow_inner": 0.7,
        "brow_outer": -0.2,
        "corner": 0.25,
        "wave": 0.6,
        "mouth_width": 0.1,
        "sweat": 0.6,
        "tilt": -0.5,
        "bow": 0.7,
    },
    "sourness": {
        "pucker": 1.0,
        "squeeze": 0.9,
        "brow_inner": -0.5,
        "brow_outer": 0.3,
        "cheek": 0.5,
        "mouth_width": -0.3,
    },
}


def actions_of(intensities: Mapping[str, float], resting: Mapping[str, float]) -> dict[str, float]:
    """Return how far each action unit is moved.

    Parameters
    ----------
    intensities : mapping
        Expression to its intensity, 0 to 1; those left out are 0.
    resting : mapping
        Action unit to where it is in this person's face at rest; those left out are 0.

    Returns
    -------
    dict
        Every action unit to its value: what expressions move adds up, and ends where a face does.

    Examples
    --------
    >>> moved = actions_of({"sadness": 0.5, "contentment": 0.5}, {"corner": 0.1})
    >>> round(moved["corner"], 3), moved["tongue"]
    (-0.025, 0.0)
    """
    moved = dict.fromkeys(ACTIONS, 0.0) | dict(resting)
    for expression, intensity in intensities.items():
        for action, full in EXPRESSIONS[expression].items():
            moved[action] += intensity * full
    return {action: min(max(value, ACTIONS[action][1]), ACTIONS[action][2]) for action, value in moved.items()}
