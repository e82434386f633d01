"""The collector against its own description: schemathesis makes up requests and checks the answers.

python test_openapi.py SCUMBLE-BINARY SIGNED-CAMPAIGN
"""

import json
import pathlib
import subprocess
import sys
import tempfile

binary, campaign = sys.argv[1:]
specification = pathlib.Path(__file__).parents[2] / "crates/scumble-collector/openapi.yml"

with tempfile.TemporaryDirectory() as folder:
    command = [binary, "collect", "--json", "--store", f"{folder}/store.db", "--campaign", campaign]
    command += ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--rate-address", "0", "--log", "warn"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        while not text.rstrip().endswith("}"):
            line = server.stdout.readline()
            assert line, "the collector did not start"
            text += line
        address = json.loads(text)["public"]
        status = subprocess.run(
            [pathlib.Path(sys.executable).parent / "schemathesis", "run", specification]
            + ["--url", f"http://{address}", "--checks", "all", "--exclude-checks", "positive_data_acceptance"]
            + ["--max-examples", "100", "--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"],
        ).returncode
        assert status == 0, "an answer is not as described"
    finally:
        server.terminate()
        assert server.wait(60) == 0, "SIGTERM ends it with status 0"
print("ok: the collector answers as described")
