"""Loads the AWS CLI once for many calls, because its start takes four times as long as a call.

Argument: the path of the socket to make. The program awsshim.py sends its arguments, folder, environment and three files
(standard input, output and error). For each call, this process forks a copy that runs the AWS CLI. It prints READY when
it listens, and ends at the end of its standard input.
"""

import json
import os
import socket
import sys
import threading

import awscli.clidriver

NO_SERVER = "http://127.0.0.1:9"


def warm(driver):
    """Loads the modules that every call needs, by a call to an address without a server."""
    os.environ.update(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="a", AWS_MAX_ATTEMPTS="1")
    silent, stderr = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(silent, 2)
    driver.main(["--endpoint-url", NO_SERVER, "--region", "us-east-1", "dynamodb", "list-tables"])
    os.dup2(stderr, 2)


def run(driver, call, files):
    """Runs the AWS CLI for one call, and ends this process."""
    for to, file in enumerate(files):
        os.dup2(file, to)
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    code = 255
    try:
        code = driver.main(call["arguments"])
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)


def serve(driver, connection):
    """Runs one call in a forked process, and sends its exit code back."""
    text, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    child = os.fork()
    if child == 0:
        run(driver, json.loads(text), files)
    for file in files:
        os.close(file)
    connection.send(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255]))
    connection.close()


def main():
    driver = awscli.clidriver.create_clidriver()
    warm(driver)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(sys.argv[1])
    listener.listen()

    def end():
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    print("READY", flush=True)
    while True:
        serve(driver, listener.accept()[0])


main()
