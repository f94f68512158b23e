"""Translates templates in one process, because to load the SAM translator takes as long as to translate.

Arguments: the text of translate.py, the parameter overrides. Input: a template in a line, as JSON. Output: for
each a line, what translate.py prints, or {"error": why there is none}.
"""

import io
import json
import sys

program = sys.argv.pop(1)
exec(program[: program.rindex("\nmain()")])  # all but its last line
yaml_parse = json.loads  # takes a third of the time

lines, answers = sys.stdin, sys.stdout
for line in lines:
    sys.stdin = io.TextIOWrapper(io.BytesIO(line.encode("utf-8")))
    sys.stdout = io.StringIO()
    try:
        main()
        answer = sys.stdout.getvalue()
    except BaseException as error:
        answer = json.dumps({"error": repr(error)})
    answers.write(answer + "\n")
    answers.flush()
