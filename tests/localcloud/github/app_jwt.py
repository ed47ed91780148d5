"""The JSON web token by which a GitHub App signs in: RS256, `iat`, `exp` within ten minutes, `iss`."""

import time
from typing import Any

import jwt

from localcloud.github.errors import ApiError
from localcloud.github.principal import Principal
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

_MAX_LIFE_S = 600
_DRIFT_S = 60


def looks_like_jwt(token: str) -> bool:
    """Whether a bearer token has the three parts of a JWT."""
    return token.count(".") == 2


def app_principal(sim: Simulator, token: str) -> Principal:
    """The app that signed the token.

    Raises:
        ApiError: 401 with GitHub's text about the claim at fault.
    """
    claims = _claims(token)
    app = _issuer(sim, claims)
    try:
        jwt.decode(
            token, app["public_key"], algorithms=["RS256"], options={"verify_iat": False, "verify_exp": False}
        )
    except jwt.PyJWTError as error:
        raise _undecodable() from error
    _check_times(claims)
    return Principal("app", f"app ID {app['id']}", app_id=app["id"], permissions=app["permissions"])


def _claims(token: str) -> dict[str, Any]:
    try:
        if jwt.get_unverified_header(token).get("alg") != "RS256":
            raise _undecodable()
        return dict(jwt.decode(token, options={"verify_signature": False}))
    except jwt.PyJWTError as error:
        raise _undecodable() from error


def _issuer(sim: Simulator, claims: dict[str, Any]) -> Doc:
    issuer = claims.get("iss")
    if issuer is None:
        raise ApiError(401, "'Issuer' claim ('iss') must be an Integer")
    found = sim.store.first("app", client_id=issuer)
    if found is None and str(issuer).isdecimal():
        found = sim.store.get("app", int(issuer))
    if found is None:
        raise ApiError(404, "Integration not found")
    return found


def _check_times(claims: dict[str, Any]) -> None:
    now = time.time()
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, int | float) or issued > now + _DRIFT_S:
        raise ApiError(
            401,
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion "
            "was issued",
        )
    if not isinstance(expires, int | float) or expires <= now:
        raise ApiError(
            401,
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at "
            "which the assertion expires",
        )
    if expires > now + _MAX_LIFE_S + _DRIFT_S:
        raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")


def _undecodable() -> ApiError:
    return ApiError(401, "A JSON web token could not be decoded")
