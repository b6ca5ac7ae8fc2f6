"""Small worlds for kills between statements: what is stored before, and the calls during which a process dies."""

from tests.chaos.scenarios.by_hand import BY_HAND
from tests.chaos.scenarios.chores import CHORES_DONE
from tests.chaos.scenarios.homes import HOMES
from tests.chaos.scenarios.machines import MACHINES
from tests.chaos.scenarios.owners import OWNERS
from tests.chaos.scenarios.settings import SETTINGS
from tests.chaos.scenarios.shared import Scenario
from tests.chaos.scenarios.watching import WATCHING
from tests.chaos.scenarios.work import WORK

SCENARIOS: dict[str, Scenario] = WORK | BY_HAND | MACHINES | WATCHING | SETTINGS | CHORES_DONE | OWNERS | HOMES
