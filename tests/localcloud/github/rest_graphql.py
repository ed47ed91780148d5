"""The one GraphQL query that clients of runner groups and hooks send: who am I."""

from localcloud.github import accounts, payloads
from localcloud.github.http import Api, Call, Reply
from localcloud.github.principal import SIGNED_IN

api = Api()


def query(call: Call) -> Reply:
    """Answer `viewer`; say of anything else that it isn't served here."""
    text = str(call.body.get("query", ""))
    if "viewer" in text and call.principal.kind == "user":
        me = payloads.user(call.sim, accounts.account_by_id(call.sim, call.principal.user_id))
        viewer = {"login": me["login"], "id": me["node_id"], "databaseId": me["id"]}
        return Reply({"data": {"viewer": viewer}})
    message = "Only the query { viewer { login id databaseId } } is served by this simulator"
    return Reply({"data": None, "errors": [{"type": "UNDEFINED", "message": message}]})


for _path in ("/graphql", "/api/graphql"):
    api.route("POST", _path, SIGNED_IN, bucket="graphql")(query)
