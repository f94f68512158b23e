"""Translates many templates in one process, because loading the SAM translator takes as long as a translation.

Arguments: the text of translate.py, and the parameter overrides. Input: templates as JSON, one in a line. Output: for each
template a line with the output of translate.py, or {"error": the reason}.
"""

import io
import json
import sys

program = sys.argv.pop(1)
exec(program[: program.rindex("\nmain()")])  # all but its last line
yaml_parse = json.loads  # needs a third of the time

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
