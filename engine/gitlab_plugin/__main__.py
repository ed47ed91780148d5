"""Entry point: the engine starts the plugin and reads the port from the first line of output."""

import sys
from collections.abc import Sequence

import grpc
from gitlab_plugin import NOTICE
from gitlab_plugin.server import serve
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

_ANNOUNCE_S = 5


def main(arguments: Sequence[str] = ()) -> None:
    """Serve until the engine ends the process; the engine gives its own address as an argument."""
    server, port = serve()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    announce(next((given for given in arguments if not given.startswith("-")), ""))
    server.wait_for_termination()


def announce(engine: str) -> None:
    """Say once what this plugin is: on standard error, and among the diagnostics of the engine's output."""
    sys.stderr.write(f"{NOTICE}\n")
    if not engine:
        return
    with grpc.insecure_channel(engine) as channel:
        message = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=NOTICE)
        try:
            engine_pb2_grpc.EngineStub(channel).Log(message, timeout=_ANNOUNCE_S)
        except grpc.RpcError:
            # The engine is only told; standard error has the notice already.
            return


if __name__ == "__main__":
    main(sys.argv[1:])
