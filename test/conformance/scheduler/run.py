"""Plays scenarios against an agent program and compares with what the real Nomad answered.

usage: run.py [options] [pattern | share "2/3"]...
  NOMADCTL=program           the program of ours (default build/debug/nomadctl)
  -record N                  NOMAD=program is the real one: play N times and keep what it answers
  -merge                     with what is kept, beside what is seen now
  -suite                     only the scenarios that say "suite"
  -clusters N, -players N    clusters side by side (1), scenarios that play on one at a time (6)
  -show                      print what was seen
"""
import argparse
import fnmatch
import glob
import json
import os
import queue
import re
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "system")]

import harness  # noqa: E402
import judge  # noqa: E402
import play  # noqa: E402
import world  # noqa: E402

# Whoever does this needs the nodes for himself.
OF_NODES = {"eligibility", "drain", "undrain", "kill", "start", "freeze", "thaw", "scheduler"}


class Scenario:
    def __init__(self, path):
        self.path = path
        self.topic, self.title = os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-5]
        self.name = f"{self.topic}/{self.title}"
        with open(path) as f:
            self.text = json.load(f)
        self.answer_path = os.path.join(os.path.dirname(path), "answers", self.title + ".json")
        verbs = {next(iter(step)) for step in self.text["steps"]}
        self.is_alone = self.text.get("alone", False) or bool(verbs & OF_NODES)

    def answer(self):
        if not os.path.exists(self.answer_path):
            return None
        with open(self.answer_path) as f:
            return json.load(f)

    def keep(self, answer):
        os.makedirs(os.path.dirname(self.answer_path), exist_ok=True)
        with open(self.answer_path, "w") as f:
            json.dump(answer, f, indent=1, sort_keys=True)
            f.write("\n")


class Played:
    def __init__(self, scenario, seen, late, seconds, problem=""):
        self.scenario, self.seen, self.late, self.seconds, self.problem = scenario, seen, late, seconds, problem


def play_one(at, scenario):
    began = time.monotonic()
    playing = play.Play(at, scenario.name, scenario.text)
    try:
        seen = playing.run()
        return Played(scenario, seen, playing.late, time.monotonic() - began)
    except Exception:  # a scenario that fails is a result; the others go on
        return Played(scenario, playing.seen, playing.late, time.monotonic() - began, traceback.format_exc(limit=-4))
    finally:
        playing.clean_up()


class Stage:
    """Clusters on which scenarios play: first those that need no node for themselves, several at a time."""

    def __init__(self, scenarios, is_real, clusters, players, tell):
        self.is_real, self.clusters, self.players, self.tell = is_real, clusters, players, tell
        self.together, self.alone = queue.Queue(), queue.Queue()
        for scenario in scenarios:
            (self.alone if scenario.is_alone else self.together).put(scenario)

    def run(self):
        threads = [threading.Thread(target=self.on_cluster) for _ in range(self.clusters)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def on_cluster(self):
        at = world.World(self.is_real)
        try:
            at.start()
            players = [threading.Thread(target=self.play_together, args=(at,)) for _ in range(self.players)]
            for player in players:
                player.start()
            for player in players:
                player.join()
            while (scenario := self.next_of(self.alone)) is not None:
                self.tell(play_one(at, scenario))
                at = self.as_before(at)
        finally:
            at.destroy()

    def as_before(self, at):
        """The same cluster, or another one if something of the last scenario can't be undone."""
        try:
            at.restore()
            return at
        except AssertionError as problem:
            print(f"a new cluster, because of {problem}", flush=True)
            at.destroy()
            return world.World(self.is_real).start()

    @staticmethod
    def next_of(waiting):
        try:
            return waiting.get_nowait()
        except queue.Empty:
            return None

    def play_together(self, at):
        while (scenario := self.next_of(self.together)) is not None:
            self.tell(play_one(at, scenario))


class Judge:
    """Tells of each scenario as it ends."""

    def __init__(self, known, show):
        self.known, self.show = known, show
        self.lock = threading.Lock()
        self.passed, self.failed, self.skipped = 0, [], 0

    def __call__(self, played):
        with self.lock:
            lines = self.verdict(played)
            print(f"{'FAILED' if lines else 'ok    '} {played.scenario.name} ({played.seconds:.1f} s)", flush=True)
            for line in lines:
                print("       " + line, flush=True)
            if self.show:
                print(json.dumps(played.seen, indent=1))
            if lines:
                self.failed.append(played.scenario.name)
            else:
                self.passed += 1

    def verdict(self, played):
        if played.problem:
            return played.problem.splitlines()
        real = played.scenario.answer()
        if real is None:
            return ["there is no answer of the real one: record it"]
        def is_known(path, there, here):
            return self.known.explains(played.scenario.name, path, there, here)
        return [f"{path}: the real one: {json.dumps(there)}, ours: {json.dumps(here)}"
                for path, there, here in judge.differences(real, played.seen, is_known)]


class Recorder:
    """Keeps what the runs of the real one agree on."""

    def __init__(self, merge):
        self.merge = merge
        self.lock = threading.Lock()
        self.answers, self.failed = {}, []

    def __call__(self, played):
        with self.lock:
            bad = played.problem or (f"did not come: {played.late}" if played.late else "")
            print(f"{'FAILED' if bad else 'played'} {played.scenario.name} ({played.seconds:.1f} s) {bad}", flush=True)
            if bad:
                self.failed.append(played.scenario.name)
                return
            name = played.scenario.name
            known = self.answers.get(name) or (self.merge and played.scenario.answer()) or played.seen
            self.answers[name] = judge.agreed(known, played.seen)
            played.scenario.keep(self.answers[name])


def chosen(words, only_suite):
    scenarios = [Scenario(path) for path in sorted(glob.glob(os.path.join(HERE, "scenarios", "*", "*.json")))]
    if only_suite:
        scenarios = [scenario for scenario in scenarios if scenario.text.get("suite")]
    shares = [found for word in words if (found := re.fullmatch(r"(\d+)/(\d+)", word))]
    patterns = [word for word in words if not re.fullmatch(r"\d+/\d+", word)]
    if patterns:
        scenarios = [scenario for scenario in scenarios
                     if any(fnmatch.fnmatchcase(scenario.name, f"*{pattern}*") for pattern in patterns)]
    for share in shares:
        scenarios = scenarios[int(share[1]) - 1::int(share[2])]
    for scenario in scenarios:
        if problem := play.problem_of(scenario.text):
            sys.exit(f"{scenario.path}: {problem}")
    return scenarios


def record(scenarios, options):
    harness.BINARY = os.path.abspath(os.environ["NOMAD"])
    recorder = Recorder(options.merge)
    for number in range(options.record):
        Stage(scenarios, True, options.clusters, max(1, options.players - 2 * number), recorder).run()
    print(f"{len(recorder.answers)} recorded, {len(set(recorder.failed))} failed: {sorted(set(recorder.failed))}")
    return 1 if recorder.failed else 0


def compare(scenarios, options):
    with open(os.path.join(HERE, "differences.json")) as f:
        known = judge.Known(json.load(f))
    verdicts = Judge(known, options.show)
    Stage(scenarios, False, options.clusters, options.players, verdicts).run()
    if not options.words and not options.suite:
        print(f"needless in differences.json: {known.needless()}")
    print(f"differing: {sorted(verdicts.failed)}")
    print(f"{verdicts.passed} passed, {len(verdicts.failed)} failed, 0 skipped")
    return 1 if verdicts.failed else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-record", type=int, default=0)
    parser.add_argument("-merge", action="store_true")
    parser.add_argument("-suite", action="store_true")
    parser.add_argument("-clusters", type=int, default=1)
    parser.add_argument("-players", type=int, default=6)
    parser.add_argument("-show", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    scenarios = chosen(options.words, options.suite)
    play.PATIENCE = 60 if options.record else 45
    harness.clear_abandoned()
    return record(scenarios, options) if options.record else compare(scenarios, options)


if __name__ == "__main__":
    sys.exit(main())
