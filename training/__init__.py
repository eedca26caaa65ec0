"""Training of the pocket model, a small vision-language model of drawn faces; no part of the library."""
