"""What outputs say without a rater: one question per file, each from outputs to rows."""
