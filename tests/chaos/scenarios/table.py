"""Small worlds for kills between statements: what is stored before, and the calls during which a process dies."""

from tests.chaos.scenarios.shared import Scenario
from tests.chaos.scenarios.work import WORK

SCENARIOS: dict[str, Scenario] = WORK
