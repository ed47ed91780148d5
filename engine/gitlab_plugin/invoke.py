"""Functions that look things up: `getProject`, `getGroup`, `getUser`, `getCurrentUser`."""

from collections.abc import Callable
from typing import Any, Final

from gitlab_plugin.api import Api, path
from gitlab_plugin.errors import PluginError
from gitlab_plugin.resources import TYPES
from gitlab_plugin.resources.base import Values

Function = Callable[[Api, Values], dict[str, Any]]


def get_project(api: Api, args: Values) -> dict[str, Any]:
    """A project by `id` or `pathWithNamespace`."""
    answer = api.get(path("/projects/{id}", id=_one_of(args, "id", "pathWithNamespace")))
    kind = TYPES["gitlab:index/project:Project"]
    return {**kind.observed(answer, str(answer["id"])), "id": str(answer["id"])}


def get_group(api: Api, args: Values) -> dict[str, Any]:
    """A group by `groupId` or `fullPath`."""
    answer = api.get(path("/groups/{id}", id=_one_of(args, "groupId", "fullPath")), with_projects="false")
    kind = TYPES["gitlab:index/group:Group"]
    return {**kind.observed(answer, str(answer["id"])), "id": str(answer["id"]), "groupId": answer["id"]}


def get_user(api: Api, args: Values) -> dict[str, Any]:
    """A user by `userId` or `username`."""
    if args.get("userId") is not None:
        found = [api.get(path("/users/{id}", id=int(args["userId"])))]
    else:
        found = api.find("/users", username=_one_of(args, "username"))
    if len(found) != 1:
        raise PluginError(f"getUser: {len(found)} users match {dict(args)!r}; expected exactly one")
    return _user(found[0])


def get_current_user(api: Api, args: Values) -> dict[str, Any]:
    """The user that the token belongs to."""
    del args
    answer = api.get("/user")
    return {
        **{
            name: answer.get(name, default)
            for name, default in (("bot", False), ("name", ""), ("username", ""))
        },
        "id": str(answer["id"]),
        "globalId": f"gid://gitlab/User/{answer['id']}",
        "publicEmail": answer.get("public_email") or "",
    }


FUNCTIONS: Final[dict[str, Function]] = {
    "gitlab:index/getProject:getProject": get_project,
    "gitlab:index/getGroup:getGroup": get_group,
    "gitlab:index/getUser:getUser": get_user,
    "gitlab:index/getCurrentUser:getCurrentUser": get_current_user,
}
"""Every function, by token."""


def _one_of(args: Values, *names: str) -> Any:
    given = [args[name] for name in names if args.get(name) is not None]
    if len(given) != 1:
        raise PluginError(f"give exactly one of {', '.join(names)}")
    value = given[0]
    return int(value) if isinstance(value, float) else value


def _user(answer: Values) -> dict[str, Any]:
    return {
        "id": str(answer["id"]),
        "userId": int(answer["id"]),
        "username": answer["username"],
        "name": answer.get("name", ""),
        "state": answer.get("state", ""),
        "email": answer.get("email") or answer.get("public_email") or "",
        "isBot": bool(answer.get("bot", False)),
    }
