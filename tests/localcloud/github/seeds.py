"""What a new GitHub has: one user, a team-plan organisation with repositories, a free one."""

from localcloud.github import accounts, tokens
from localcloud.github.simulator import Simulator

USER_LOGIN = "platform-admin"
ORGANIZATION = "acme"
FREE_ORGANIZATION = "acme-free"
REPOSITORIES = (("inference", True), ("training", True), ("website", False))


def plant(sim: Simulator) -> None:
    """Make them where the state is empty, and let the user token sign in."""
    me = accounts.account(sim, USER_LOGIN)
    if me is None:
        me = accounts.new_account(sim, USER_LOGIN, "User")
        accounts.new_account(sim, "github-actions[bot]", "Bot")
        for login, plan in ((ORGANIZATION, "team"), (FREE_ORGANIZATION, "free")):
            org = accounts.new_account(sim, login, "Organization", plan=plan, owners=[me["id"]], members=[])
            for name, private in REPOSITORIES[: 3 if plan == "team" else 1]:
                accounts.new_repository(sim, org, name, private=private, description=None)
    tokens.issue(sim, sim.user_token, kind="user", user_id=me["id"], scopes=list(tokens.ALL_SCOPES))
    sim.store.commit()
