"""Answers of an agent to questions with many tokens, beside those that the real Nomad 1.6.5 gave: for the folders here.

`answers.json` of a folder has for each operation the answers and, of each, the tokens that get it; the answer with most
tokens has "*". An answer is a status, for errors its text, for lists how many objects are shown. A mistake of the caller's
is 4xx here where the real one says 500 with the same text. Of a file that is read there is its text, as errors of that
route come behind status 200, too. `differences.json` lists what else differs on purpose: each row says what ours answers.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import http.client
import itertools
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

import harness  # noqa: E402

ADVERTISE = """
advertise {
  http = "127.0.0.1"
  rpc  = "127.0.0.1"
  serf = "127.0.0.1"
}
"""
MOST_STREAMS = 32
TOKEN = re.compile(r"[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}")  # Of a task.
PATIENCE = 2  # Seconds that a stream without a first byte is waited for: it is held, so it was not refused.


class World:
    """An agent with what `config` adds, ACLs on, and its management token; whoever derives fills it."""

    def __init__(self, config):
        self.agent = harness.Agent(config, log_level="INFO")
        self.agent.start(wait=False)
        self.management = harness.wait_until(self.agent.bootstrap, what="a leader")["SecretID"]
        self.agent.token = self.management
        harness.wait_until(self.agent.is_ready, what="the node")
        self.tokens = {"none": "", "management": self.management}

    def done(self, method, path, body=None):
        answer = self.agent.request(method, path, body)
        assert answer.status == 200, f"{method} {path}: {answer}"
        return answer.json if answer.body else None

    def destroy(self):
        self.agent.destroy()


class Asker:
    """Asks the agent of a world, which has `agent`, `tokens` by name, and `names()` for what differs from world to world."""

    def __init__(self, built, guesses):
        self.world, self.names, self.guesses = built, built.names(), guesses
        self.hosts = itertools.cycle(f"127.0.0.{number}" for number in range(2, 250))
        self.connections = {}

    def ask_with_each(self, method, path, body):
        tokens = self.world.tokens
        if method == "STREAM":  # Side by side, as most of them are held.
            with concurrent.futures.ThreadPoolExecutor(MOST_STREAMS) as pool:
                answers = pool.map(lambda token: self.stream(path, token), tokens.values())
        else:
            # Who guesses tokens has to wait, so guesses come from many.
            other = next(self.hosts)
            answers = [self.once(method, path, body, token, other if name in self.guesses else "127.0.0.1") for name, token in tokens.items()]
        return dict(zip(tokens, map(self.plain, answers), strict=True))

    def once(self, method, path, body, token, source):
        if source not in self.connections:
            self.connections[source] = http.client.HTTPConnection("127.0.0.1", self.world.agent.port, timeout=30, source_address=(source, 0))
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection = self.connections[source]
        connection.request(method, path, text, {"X-Nomad-Token": token} if token else {})
        answer = connection.getresponse()
        return self.shown(answer.status, answer.read().decode(errors="replace"), path.startswith("/v1/client/fs/cat/"))

    @staticmethod
    def shown(status, said, is_file=False):
        if status >= 400:
            return f"{status} {said.strip()}"
        if is_file:
            return f"{status} {TOKEN.sub('A TOKEN', said)}".strip()
        try:
            parsed = json.loads(said)
        except ValueError:
            return str(status)
        if isinstance(parsed, dict) and "Matches" in parsed:
            return f"{status} " + " ".join(f"{kind}:{len(found or [])}" for kind, found in sorted(parsed["Matches"].items()))
        return f"{status} [{len(parsed)}]" if isinstance(parsed, list) else str(status)

    def stream(self, path, token):
        connection = http.client.HTTPConnection("127.0.0.1", self.world.agent.port, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers={"X-Nomad-Token": token} if token else {})
            answer = connection.getresponse()
            return f"{answer.status} {answer.read().decode().strip()}" if answer.status >= 400 else "held"
        except TimeoutError:
            return "held"
        finally:
            connection.close()

    def plain(self, text):
        for one, name in self.names.items():
            text = text.replace(one, name)
        text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID", text)
        return re.sub(r"\b\d{4,}\b|(?<=Index\":)\d+|(?<=index: )\d+", "N", text)


def folded(answers):
    """The tokens of each answer; the most common one has "*"."""
    of_answer = collections.defaultdict(list)
    for token, answer in answers.items():
        of_answer[answer].append(token)
    most = max(of_answer, key=lambda answer: len(of_answer[answer]))
    return {most: "*", **{answer: " ".join(tokens) for answer, tokens in of_answer.items() if answer != most}}


def unfolded(kept, tokens):
    answers = {}
    for answer, names in kept.items():
        for token in tokens if names == "*" else names.split(" "):
            if names != "*" or token not in answers:
                answers[token] = answer
    return answers


def are_alike(real, ours):
    """The same, or the same error by a better status."""
    return real == ours or (real.startswith("500 ") and ours.startswith("4") and real[4:].removeprefix("rpc error: ") == ours[4:])


class Known:
    """Differences that are wanted: patterns of operations, of tokens, of the real one's answer and of ours, with the reason."""

    def __init__(self, rows):
        self.rows, self.used = rows, set()

    def explains(self, *facts):
        for number, row in enumerate(self.rows):
            if all(fnmatch.fnmatchcase(fact, row.get(key, "*")) for key, fact in zip(("operation", "token", "real", "ours"), facts)):
                self.used.add(number)
                return True
        return False


def compare(directory, seen, is_all):
    """How many operations are answered as they should, how many are not, and what is wrong with the files."""
    with open(os.path.join(directory, "answers.json")) as f:
        kept = json.load(f)
    with open(os.path.join(directory, "differences.json")) as f:
        known = Known(json.load(f))
    good = bad = 0
    wrong = [f"differences.json: {row} does not say what ours answers" for row in known.rows if not row.get("ours")]
    for operation, ours in seen.items():
        real, found = unfolded(kept[operation], ours), collections.defaultdict(list)
        for token, answer in ours.items():
            if not are_alike(real[token], answer) and not known.explains(operation, token, real[token], answer):
                found[real[token], answer].append(token)
        for (its, own), tokens in found.items():
            print(f"{operation}\n  real {its!r}\n  ours {own!r}\n  {', '.join(tokens)}")
        good, bad = (good, bad + 1) if found else (good + 1, bad)
    if is_all:
        wrong += [f"{operation}: not asked" for operation in sorted(kept.keys() - seen.keys())]
        wrong += [f"differences.json: {row} explains nothing" for number, row in enumerate(known.rows) if number not in known.used]
    return good, bad, wrong


def main(directory, usage, ask_all):
    """`ask_all(patterns)` asks what fits one of the patterns, all without any: {operation: {token: answer}}."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("-record", action="store_true")
    parser.add_argument("-show", action="store_true")
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_args()
    if options.record:
        harness.BINARY, harness.MORE_CONFIG = os.path.abspath(os.environ["NOMAD"]), ADVERTISE
    seen = ask_all(options.pattern)
    if options.show:
        print(json.dumps({name: folded(answers) for name, answers in seen.items()}, indent=1))
    if options.record:
        with open(os.path.join(directory, "answers.json"), "w") as f:
            json.dump({name: folded(answers) for name, answers in seen.items()}, f, indent=1)
            f.write("\n")
        return
    good, bad, wrong = compare(directory, seen, not options.pattern)
    for text in wrong:
        print(text)
    print(f"{good} passed, {bad + len(wrong)} failed")
    sys.exit(1 if bad or wrong else 0)
