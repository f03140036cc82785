"""Generated examples are the same on every run and on every machine, and no test fails for being slow.

Nothing depends on who runs the tests: their settings are out of reach, and the language is English.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from minisgl_tutor.language import VARIABLE

settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        patch.setenv(VARIABLE, "en")
        yield
