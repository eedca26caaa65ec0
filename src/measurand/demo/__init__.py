"""The demo study: drawn faces, simulated raters, and a small model that ships with the package."""
