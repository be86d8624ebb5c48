"""The table of docs/BENCHMARKS.md, made from recorded runs (recorded.json).

    table.py PAGE            fails if the page is not what the records make
    table.py PAGE -write     makes it so (`./dev docs`)
    table.py PAGE -add "start until its node is ready" 26 -commit 0123abc -machine epyc [-nomad "1.4 s"] [-note ...]
                             records a run, which is then the figure's newest, and makes the page
    table.py -self-test

A figure has an area, a goal ("<= 5 ms", ">= 2000 /s"; none: a figure that is only watched) and its runs, the
newest last. A run has a value in the goal's unit, the commit that was measured (or, where that was not noted,
the one that wrote it down), the machine, what Nomad took in the same run, and what else a reader must know.
"""
import argparse
import json
import os
import sys

RECORDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")
BEGIN, END = "<!-- {}: made by test/bench/table.py -->\n", "<!-- end of {} -->\n"


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def with_unit(text, unit):
    return text + unit if unit.startswith("/") else f"{text} {unit}"


def goal_of(figure):
    """(True if at most, limit, unit) or None."""
    if "goal" not in figure:
        return None
    sign, limit, unit = figure["goal"].split(" ", 2)
    return sign == "<=", float(limit), unit


def unit_of(figure):
    return goal_of(figure)[2] if "goal" in figure else figure["unit"]


def is_missed(figure, run=None):
    if not (goal := goal_of(figure)):
        return False
    at_most, limit, _ = goal
    value = (run or figure["runs"][-1])["value"]
    return value > limit if at_most else value < limit


def said(figure, run):
    text = run.get("text") or with_unit(number(run["value"]), unit_of(figure))
    return f"**{text}**" if is_missed(figure, run) else text


def commit_of(run):
    return run["commit"] if "commit" in run else f"by {run['written_down']}"


def goal_text(figure):
    if not (goal := goal_of(figure)):
        return ""
    return ("≤ " if goal[0] else "≥ ") + with_unit(number(goal[1]), goal[2])


def row(figure):
    run = figure["runs"][-1]
    now = said(figure, run) + (f" ({run['note']})" if "note" in run else "")
    before = next((other for other in reversed(figure["runs"][:-1]) if other["machine"] != run["machine"]),
                  figure["runs"][-2] if len(figure["runs"]) > 1 else None)
    earlier = f"{said(figure, before)} ({commit_of(before)}, {before['machine']})" if before else ""
    nomad = run["nomad"] if "nomad" in run else f"{figure['nomad']} °" if "nomad" in figure else ""
    cells = [figure["figure"], goal_text(figure), now, nomad, commit_of(run), run["machine"], earlier]
    return "| " + " | ".join(cells) + " |"


def table(records):
    lines, area = [], None
    for figure in records["figures"]:
        if figure["area"] != area:
            area = figure["area"]
            lines += ["", f"### {area[0].upper()}{area[1:]}", "",
                      "| figure | goal | now | Nomad | commit | machine | elsewhere or before |", "|---|---|---|---|---|---|---|"]
        lines.append(row(figure))
    lines += ["", "Machines:", ""] + [f"- *{name}*: {what}." for name, what in records["machines"].items()] + [""]
    return "\n".join(lines) + "\n"


def missed(records):
    """The list that the page begins with."""
    figures = [figure for figure in records["figures"] if "goal" in figure]
    lines = []
    for figure in filter(is_missed, figures):
        reached = [run for run in figure["runs"] if not is_missed(figure, run)]
        elsewhere = f"; {said(figure, reached[-1])} on {reached[-1]['machine']}" if reached else ""
        lines.append(f"| {figure['area']} | {figure['figure']} | {goal_text(figure)} | "
                     f"{said(figure, figure['runs'][-1])}{elsewhere} |")
    head = [f"{len(lines)} of {len(figures)} goals are missed by the newest run:", "",
            "| area | figure | goal | newest run; one that met the goal |", "|---|---|---|---|"]
    return "\n".join([""] + head + lines + [""]) + "\n"


def put(page, name, text):
    """The page with `text` in the place that bears the name."""
    before, begin, rest = page.partition(BEGIN.format(name))
    _, end, after = rest.partition(END.format(name))
    if not begin or not end:
        raise SystemExit(f"the page has no place for {name}")
    return before + begin + text + end + after


def make(page, records):
    return put(put(page, "missed", missed(records)), "table", table(records))


def mistakes(records):
    """What is wrong with the records themselves."""
    names = [figure["area"] + ": " + figure["figure"] for figure in records["figures"]]
    wrong = [f"{name} is there twice" for name in set(names) if names.count(name) > 1]
    for figure in records["figures"]:
        if ("goal" in figure) == ("unit" in figure):
            wrong.append(f"{figure['figure']}: a goal or a unit")
        for run in figure["runs"]:
            if ("commit" in run) == ("written_down" in run) or run["machine"] not in records["machines"]:
                wrong.append(f"{figure['figure']}: a run has a commit and one of the machines")
    return wrong


def text_of(records):
    """The file as it is kept: a run a line."""
    def one(value):
        return json.dumps(value, ensure_ascii=False)
    machines = ",\n".join(f"  {one(name)}: {one(what)}" for name, what in records["machines"].items())
    figures = []
    for figure in records["figures"]:
        head = ", ".join(f"{one(key)}: {one(value)}" for key, value in figure.items() if key != "runs")
        figures.append(f"  {{{head}, \"runs\": [\n" + ",\n".join("    " + one(run) for run in figure["runs"]) + "]}")
    return f"{{\n \"machines\": {{\n{machines}\n }},\n \"figures\": [\n" + ",\n".join(figures) + "\n ]\n}\n"


def add(records, options):
    found = [figure for figure in records["figures"] if figure["figure"] == options.add[0]
             and options.area in (None, figure["area"])]
    if len(found) != 1:
        raise SystemExit(f"{len(found)} figures are called {options.add[0]!r}")
    run = {"value": float(options.add[1]), "commit": options.commit, "machine": options.machine}
    run.update({key: getattr(options, key) for key in ("nomad", "note") if getattr(options, key)})
    found[0]["runs"].append(run)
    if wrong := mistakes(records):
        raise SystemExit("\n".join(wrong))
    with open(RECORDS, "w") as f:
        f.write(text_of(records))


def self_test():
    records = {"machines": {"a": "x", "b": "y"}, "figures": [
        {"area": "m", "figure": "f", "goal": "<= 5 ms", "runs": [{"value": 4, "commit": "1", "machine": "a"},
                                                              {"value": 6, "commit": "2", "machine": "b"}]},
        {"area": "m", "figure": "g", "goal": ">= 2000 /s", "runs": [{"value": 3000, "commit": "1", "machine": "a"}]},
        {"area": "m", "figure": "h", "unit": "kB", "runs": [{"value": 1, "written_down": "1", "machine": "a"}]}]}
    assert not mistakes(records)
    assert "1 of 2 goals" in missed(records) and "| f | ≤ 5 ms | **6 ms**; 4 ms on a |" in missed(records), missed(records)
    assert row(records["figures"][1]) == "| g | ≥ 2,000/s | 3,000/s |  | 1 | a |  |", row(records["figures"][1])
    assert row(records["figures"][2]) == "| h |  | 1 kB |  | by 1 | a |  |"
    assert json.loads(text_of(records)) == records
    records["figures"][2]["runs"][0]["machine"] = "c"
    assert mistakes(records)
    page = "x\n" + BEGIN.format("missed") + "old\n" + END.format("missed") + BEGIN.format("table") + END.format("table") + "y\n"
    made = make(page, records)
    assert made.startswith("x\n") and made.endswith("y\n") and "old" not in made and make(made, records) == made
    print("1 passed, 0 failed")
    return 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("page", nargs="?")
    parser.add_argument("-write", action="store_true")
    parser.add_argument("-add", nargs=2)
    for option in ("area", "commit", "machine", "nomad", "note"):
        parser.add_argument("-" + option)
    parser.add_argument("-self-test", action="store_true", dest="self_test")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    with open(RECORDS) as f:
        text = f.read()
    records = json.loads(text)
    if options.add:
        add(records, options)
    elif wrong := mistakes(records) + ([] if text == text_of(records) else ["recorded.json is not as -add writes it"]):
        print("\n".join(wrong))
        return 1
    with open(options.page) as f:
        page = f.read()
    made = make(page, records)
    if options.add or options.write:
        with open(options.page, "w") as f:
            f.write(made)
    elif made != page:
        print(f"{options.page} is not what test/bench/recorded.json makes; ./dev docs writes it anew")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
