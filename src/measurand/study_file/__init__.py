"""The study file: TOML that says what is asked of whom and how, checked as a whole before anything is spent."""

from measurand.study_file.errors import StudyFileError
from measurand.study_file.read import StudyFile, read_study

__all__ = ["StudyFile", "StudyFileError", "read_study"]
