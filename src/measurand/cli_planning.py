"""The command that plans a panel: `measurand plan`."""
