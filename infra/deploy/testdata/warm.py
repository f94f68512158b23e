"""Loads the SAM CLI and boto3 once for many calls, because loading them takes longer than most calls.

Argument: the path of a socket to make. Its folder is removed at the end. A client (SHIM) sends its arguments, its folder, its
environment and its standard files to the socket. A copy of this process then runs the SAM CLI with them, or the program after -c.
Prints READY. Ends when the standard input ends.
"""

import gc
import json
import os
import shutil
import signal
import socket
import sys
import threading

import boto3
import botocore.loaders
import samcli.commands.delete.delete_context
import samcli.commands.deploy.deploy_context
import samcli.commands.package.package_context
from samcli.cli.main import cli

SHIM = """import json, os, socket, sys
call = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(sys.argv[1])
socket.send_fds(connection, [json.dumps(call).encode()], [0, 1, 2])
answer = connection.recv(1)
sys.exit(answer[0] if answer else 255)
"""


def load_models():
    """Keeps botocore's descriptions of the services in memory. Without this each client reads them, in half of a call's time."""
    loader, known = botocore.loaders.JSONFileLoader, {}
    read = loader.load_file

    def once(self, path):
        if path not in known:
            known[path] = read(self, path)
        return known[path]

    loader.load_file = once
    for service in "cloudformation", "iam", "lambda", "s3", "sts":
        boto3.client(service, "eu-central-1")
    gc.freeze()  # otherwise the garbage collector of each copy of this process would touch, and so copy, all memory


def run(call, files):
    """Runs the call in this process, and ends the process."""
    for to, file in enumerate(files):
        os.dup2(file, to)
    sys.stdin = open(0, closefd=False)
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    code = 255
    try:
        arguments = call["arguments"]
        if arguments[0] == "-c":
            sys.argv = ["-c"] + arguments[2:]
            exec(compile(arguments[1], "-c", "exec"), {"__name__": "__main__"})
            code = 0
        else:
            sys.argv = ["sam"] + arguments
            cli(prog_name="sam")
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def serve(connection):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    child = os.fork()
    if child == 0:
        run(json.loads(text), files)
    for file in files:
        os.close(file)
    connection.send(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
    os._exit(0)


def main():
    with open(sys.argv[1] + ".py", "w") as shim:
        shim.write(SHIM)
    load_models()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen()

    def end():
        while os.read(0, 1):
            pass
        shutil.rmtree(os.path.dirname(sys.argv[1]))
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    print("READY", flush=True)
    while True:
        connection = listener.accept()[0]
        if os.fork() == 0:
            serve(connection)
        connection.close()


main()
