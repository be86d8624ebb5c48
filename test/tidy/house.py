"""What a reader meets first: folders that can be seen at once, actors with a card, classes with a test
of their own, words that mean something outside of this house."""
import os
import re
from collections import defaultdict

import deciding

MAX_FILES = 40
DATA = ("test/data", "test/fuzz/corpus", "test/unit/runtime/raft/transcripts")

CARD = ("Owns", "Takes", "Parent", "Ends")
SPAWNS = re.compile(r"^(?!auto\b|return\b)[A-Za-z][\w:<>]* (spawn_\w+)\(", re.M)

# Pieces of the names of types that are nobody's terms: (the word, where, what it may be called).
WORDS = (
    ("Office", ("actors/",), "a role: a link, a caller"),
    ("Ties", ("actors/",), "links"),
    ("Told", ("actors/",), "a report"),
    ("Letter", ("actors/raft/", "runtime/raft/"), "a message"),
    ("Keeper", ("actors/", "runtime/"), "a log, a store, a collector"),
    ("Desk", ("actors/", "runtime/"), "a context, requests"),
    ("Seat", ("actors/", "runtime/"), "what they are for"),
    ("WaitingRoom", ("actors/", "runtime/"), "pending requests"),
    ("Board", ("actors/", "runtime/"), "states"),
    ("Debt", ("actors/", "runtime/"), "what is pending"),
    ("Wish", ("actors/", "runtime/", "cli/"), "a request, a spec"),
    ("Doors", ("actors/",), "handlers"),
    ("Predecessor", ("actors/", "runtime/"), "PreviousAlloc"),
    ("Rollout", ("actors/", "runtime/", "cli/"), "Deployment"),
    ("Figures", ("actors/", "runtime/", "cli/"), "metrics, stats"),
    ("Feed", ("actors/client/", "runtime/plugin/"), "a stream, a schedule"),
    ("Places", ("actors/", "runtime/", "cli/"), "locations, positions"),
    ("Freight", ("actors/", "runtime/"), "what is in flight"),
    ("Graveyard", ("actors/", "runtime/"), "what has ended"),
    ("Guest", ("actors/", "runtime/"), "a request"),
    ("Entrant", ("actors/", "runtime/"), "an entry"),
    ("Outsider", ("actors/", "runtime/"), "who asks and waits"),
    ("Witness", ("actors/", "runtime/"), "a record"),
    ("Deed", ("actors/", "runtime/"), "an effect"),
    ("Talk", ("actors/", "runtime/"), "an exchange"),
    ("Speaker", ("actors/", "runtime/"), "a sender"),
    ("Player", ("actors/", "runtime/"), "an actor"),
    ("Hurry", ("actors/", "runtime/"), "what is to be done"),
    ("Tally", ("actors/", "runtime/"), "answers, counts"),
    ("Farm", ("actors/", "runtime/", "cli/"), "simulated nodes"),
    ("Suspect", ("cli/",), "what fails"),
)

# Names that meant something else, and what each is called. The SDK's header knows them for one release.
OLD_NAMES = {
    "HookPlace": "HookTarget", "HookHost": "HookRunner", "PluginHost": "PluginAgent", "SessionHost": "SessionAgent",
    "TaskHost": "TaskAgent", "HostRequest": "AgentRequest", "HostAnswer": "AgentAnswer", "AskHost": "AskAgent",
    "SpareMemory": "ReleasableMemory", "FileNews": "FileChanges", "LeadershipNews": "LeadershipChanges",
}
OLD_NAMES_STAY = "runtime/plugin/sdk/host.hpp"

# A place that is no placement: an index, an iterator, a path. Placements are the scheduler's.
PLACE = re.compile(r"(?<!updates\.)(?<!counts\.)\b(?!(?:\w+_)?in_place)(?:(?:\w+_)?places?_?\b(?!\s*\()|places?_of\b|Place\b)")
PLACEMENTS = ("runtime/scheduler/asking", "runtime/scheduler/generic", "runtime/scheduler/system",
              "runtime/scheduler/reconcile/", "runtime/scheduler/plan/plan.hpp", "runtime/jobspec/diff/",
              "runtime/plugin/sdk/kinds.hpp", "runtime/plugin/sdk/hook_instance.cpp")


# An allocation by its schema's fields: those that no other object has, and the ways to a reader.
ALLOC_FIELDS = re.compile(
    r"\bschema::Allocation::Reader\b|\balloc\.reader\(\)[.;]|(?:\.|->)(?:get|has)(?:AllocatedResources|DesiredStatus"
    r"|ClientStatus|TaskStates|DesiredTransition|RescheduleTracker|FollowupEvalId|NextAllocation"
    r"|PreviousAllocation|AllocModifyIndex|DeploymentStatus|AllocStates|ReportNumber|MetricNumber|NetworkStatus"
    r"|ClientDescription|DesiredDescription|PreemptedAllocations|PreemptedByAllocation)\(\)")


def full_folders(paths):
    """(folder, files in it) of those that hold more than a reader can see at once."""
    counts = defaultdict(int)
    for path in paths:
        folder = os.path.dirname(path)
        if not (folder + "/").startswith(tuple(d + "/" for d in DATA)):
            counts[folder] += 1
    return [(folder, count) for folder, count in sorted(counts.items()) if count > MAX_FILES]


def spawns_actor(path, text):
    return path.startswith("actors/") and not path.startswith("actors/core/") and path.endswith(".hpp") \
        and SPAWNS.search(text) is not None


def missing_of_card(text):
    """What the card at the head of an actor's header does not say."""
    head = re.match(r"(?://[^\n]*\n)*", text)[0]
    return [part for part in CARD if not re.search(rf"^// {part}: +\S", head, re.M)]


def owner_of_card(text):
    """(owner, policy) that the card names; None if it does not."""
    found = re.search(r"^// Parent: +(\w+), (report|end_owner|restart)\b", text, re.M)
    return found and found.groups()


def differs_from_card(header, source):
    """Why the card in `header` is not what the spawn sites in `source` say; None if it is."""
    owner = owner_of_card(header)
    if owner is None:
        return "the actor's card does not say `Parent: <owner>, <report|end_owner|restart>`"
    spawned = {policy or "report" for policy in
               re.findall(r"actor::spawn(?:_detached)?(?:<actor::Policy::(\w+)>)?\(", source)}
    if spawned and owner[1] not in spawned:
        return f"the actor's card says {owner[1]}, it is spawned with {', '.join(sorted(spawned))}"
    return None


def wants_test(path, text, files):
    """Whether `path` is a deciding class (a pair of files) or an entry point that ships: an actor, a
    program."""
    if path.endswith("/main.cpp"):
        return not path.startswith("test/")
    if path.endswith(".hpp"):
        return spawns_actor(path, text)
    return deciding.is_deciding(path) and path[:-4] + ".hpp" in files


def test_of(path):
    return f"test/unit/{path[:-4]}_test.cpp"


def house_words(path, text):
    """(type, what it may be called) of the types in `path` that are called by such words."""
    wanted = {word: instead for word, where, instead in WORDS if path.startswith(where)}
    names = set(re.findall(r"\b[A-Z]\w*", deciding.code_of(text))) if wanted else ()
    return [(name, wanted[piece]) for name in sorted(names) for piece in re.findall(r"[A-Z][a-z]+", name)
            if piece in wanted]


def old_names(path, text):
    """(line, name, what it is called) of names in the code of `path` that meant something else."""
    if not path.startswith(("actors/", "runtime/", "cli/")) or path == OLD_NAMES_STAY:
        return
    for number, line in enumerate(deciding.code_of(text).split("\n"), 1):
        for name in re.findall(r"\w+", line):
            if name in OLD_NAMES:
                yield number, name, OLD_NAMES[name]
        if not path.startswith(PLACEMENTS) and (found := PLACE.search(line)):
            yield number, found[0], "a position, location or slot"


def reads_alloc_fields(path, line):
    """Whether the line of product code goes round AllocView (the compiler refuses that for objects)."""
    return path.startswith(("runtime/", "actors/", "cli/")) and ALLOC_FIELDS.search(line.split("//")[0]) is not None


def self_test():
    many = [f"actors/x/{n}.cpp" for n in range(MAX_FILES + 1)]
    if full_folders(many) != [("actors/x", 41)] or full_folders(many[1:]):
        return "full folders"
    header = "// X: does it.\n//\n// Owns:   a\n// Takes:  b\n// Parent: c\n{}#pragma once\nX spawn_x(int a);\n"
    if not spawns_actor("actors/server/x.hpp", header) or spawns_actor("runtime/x/x.hpp", header) \
            or spawns_actor("actors/server/x.hpp", "  void spawn_hook();\n"):
        return "headers of actors"
    if missing_of_card(header.format("")) != ["Ends"] or missing_of_card(header.format("// Ends:   d\n")):
        return "cards"
    card = "// Parent: server, restart.\n"
    if owner_of_card(card) != ("server", "restart") or owner_of_card("// Parent: the server.\n") \
            or differs_from_card(card, "actor::spawn<actor::Policy::restart>(owner, x)") \
            or not differs_from_card(card, "actor::spawn(owner, x)"):
        return "owners on cards"
    files = {"runtime/raft/a.cpp", "runtime/raft/a.hpp", "runtime/net/a.hpp"}
    if not wants_test("runtime/raft/a.cpp", "", files) or wants_test("runtime/raft/b.cpp", "", files) \
            or wants_test("runtime/net/a.cpp", "", files) or not wants_test("actors/server/x.hpp", header, files) \
            or test_of("runtime/raft/a.cpp") != "test/unit/runtime/raft/a_test.cpp":
        return "mirrored tests"
    if house_words("actors/rpc/x.hpp", "using PostOffice = int;  // Ties") != [("PostOffice", WORDS[0][2])] \
            or house_words("actors/rpc/x.hpp", "struct Letter { int told; };") \
            or not house_words("runtime/raft/x.hpp", "struct Letter {};"):
        return "words"
    old = "HookHost& host = at(place);  // a place\nout.place(3, std::in_place, updates.place, placed);\n"
    if [found[:2] for found in old_names("actors/x.cpp", old)] != [(1, "HookHost"), (1, "place")] \
            or list(old_names(OLD_NAMES_STAY, old)):
        return "old names"
    return None
