"""The command that asks what outputs say without a rater: `measurand probe`."""
