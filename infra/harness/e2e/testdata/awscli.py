"""Runs the AWS CLI once for many calls: starting it takes four times as long as a call.

Argument: a socket to make. The program that is written to bin/aws passes its arguments, its folder, its environment and its three
files on; a copy of this process is the AWS CLI then. Prints READY; ends when its standard input does.
"""

import json
import os
import socket
import sys
import threading

import awscli.clidriver

NOWHERE = "http://127.0.0.1:9"


def warm(driver):
    """Loads what every call loads, by a call that finds no one."""
    os.environ.update(AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="a", AWS_MAX_ATTEMPTS="1")
    silent, said = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(silent, 2)
    driver.main(["--endpoint-url", NOWHERE, "--region", "us-east-1", "dynamodb", "list-tables"])
    os.dup2(said, 2)


def play(driver, call, files):
    """Runs the AWS CLI, in a process of its own."""
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
    text, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    child = os.fork()
    if child == 0:
        play(driver, json.loads(text), files)
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
