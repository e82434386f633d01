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
    command += ["--timeout", "60"]  # no deadline that a slow machine could meet
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        while not text.rstrip().endswith("}"):
            line = server.stdout.readline()
            assert line, "the collector did not start"
            text += line
        address = json.loads(text)["public"]
        status = subprocess.run([binary, "collect", "status", "--json", "--store", f"{folder}/store.db"], capture_output=True, check=True)
        digest = json.loads(status.stdout)["campaigns"][0]["campaign"]
        # As it is written, where nearly every made-up digest is unknown; and with the digest that is served.
        text, pattern = specification.read_text(), 'pattern: "^[0-9a-f]{64}$"'
        assert pattern in text
        for number, description in enumerate([text, text.replace(pattern, f'enum: ["{digest}"]')]):
            path = pathlib.Path(folder, f"{number}.yml")
            path.write_text(description)
            run = [pathlib.Path(sys.executable).parent / "schemathesis", "run", path, "--url", f"http://{address}"]
            run += ["--checks", "all", "--exclude-checks", "positive_data_acceptance", "--max-examples", "100"]
            run += ["--phases", "examples,coverage,fuzzing", "--seed", "1", "--no-color"]
            run += ["--request-timeout", "600", "--suppress-health-check", "too_slow"]  # on a slow machine
            assert subprocess.run(run).returncode == 0, "an answer is not as described"
    finally:
        server.terminate()
        assert server.wait(600) == 0, "SIGTERM ends it with status 0"
print("ok: the collector answers as described")
