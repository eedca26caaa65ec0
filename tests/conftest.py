import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Test modules are imported one by one (importmode=importlib), so that what they share is found here: strategies.py.
sys.path.insert(0, str(Path(__file__).parent))

# Workers are told the width of their controller's terminal; what the command line prints here goes into pipes.
os.environ.pop("COLUMNS", None)

settings.register_profile("measurand", deadline=None, print_blob=True)
settings.load_profile("measurand")


@pytest.fixture(scope="session")
def shared():
    """Folder with published tables and real data that are not part of this repository."""
    folder = os.environ.get("MEASURAND_SHARED")
    if not folder:
        pytest.skip("MEASURAND_SHARED is not set: it names the folder with the published tables and real data")
    return Path(folder)
