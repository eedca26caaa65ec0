"""Answers of systems against individual raters: scores, anchors, baselines, contrasts, gates, forced choice."""
