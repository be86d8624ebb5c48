"""Linearizability of variables: whether there is an order of the operations, each somewhere between
its call and its answer, in which every answer is what one variable alone would have said.

Every value is written at most once, so that a version and its value are one and the same. The search
follows the history in time: it keeps every state that the variable may be in, together with the
pending operations that have taken effect already, and at each answer drops those in which that
operation could not have taken effect.

Writes whose index is known take effect in the order of their indexes. That asks for more than
linearizability, as is promised, and leaves little to search.
"""
import collections
import dataclasses
import typing

ABSENT = None  # the variable's state while it does not exist
ANY = object()  # `expected` of a write that asks for no version
IMPOSSIBLE = object()


@dataclasses.dataclass(eq=False)
class Operation:
    key: str
    kind: str  # "get", "put" or "delete"
    called: float
    answered: typing.Optional[float] = None  # None: no answer; it may have happened, or may yet
    value: object = ABSENT  # what a put writes
    expected: object = ANY  # the value that a conditional write asks for
    conflict: bool = False  # a conditional write found something else, `seen`
    seen: object = ABSENT  # by a get or a conflict
    index: int = 0  # of an answered write

    def leaves_all(self):
        return self.kind == "get" or self.conflict

    def after(self, state):
        """The state that it leaves, or IMPOSSIBLE where it would have answered otherwise."""
        fits = self.expected is ANY or state == self.expected
        if self.kind == "get":
            return state if state == self.seen else IMPOSSIBLE
        if self.conflict:
            return state if not fits and state == self.seen else IMPOSSIBLE
        return self.value if fits else IMPOSSIBLE


def relevant(operations):
    """A write without an answer whose value nobody has seen can be left out; if somebody has, its
    index is known."""
    seen = {o.expected: 0 for o in operations}
    seen.update({o.seen: o.index for o in operations if o.leaves_all()})
    kept = []
    for operation in operations:
        if operation.answered is None and operation.kind == "put":
            if operation.value not in seen:
                continue
            operation = dataclasses.replace(operation, index=seen[operation.value])
        kept.append(operation)
    return kept


class Search:
    """Of one variable, which does not exist at first. A configuration is its state, how many of the
    writes of known index have taken effect, and which other pending operations."""

    def __init__(self, operations):
        indexed = [o for o in operations if o.index and not o.leaves_all()]
        self.rank = {o: n for n, o in enumerate(sorted(indexed, key=lambda o: o.index))}
        self.configurations = {(ABSENT, 0, frozenset())}
        self.pending = []

    def call(self, operation):
        self.pending.append(operation)

    def answer(self, operation):
        """Whether there is a way in which it has taken effect."""
        found, work = set(), [self.with_readers(*c) for c in self.configurations]
        known = set(work)
        while work:
            configuration = work.pop()
            if self.has(configuration, operation):
                state, ranked, done = configuration
                found.add((state, ranked, done - {operation}))
                continue
            for then in self.steps(configuration):
                if then not in known:
                    known.add(then)
                    work.append(then)
        if found:
            self.configurations = found
            self.pending.remove(operation)
        return bool(found)

    def has(self, configuration, operation):
        _, ranked, done = configuration
        return operation in done or self.rank.get(operation, ranked) < ranked

    def steps(self, configuration):
        """What may come next: one more write."""
        state, ranked, done = configuration
        # Deletes without an answer: the first stands for all, where somebody saw that it happened.
        floats = state is not ABSENT and self.somebody_saw_nothing(done)
        for operation in self.pending:
            if operation.leaves_all() or self.has(configuration, operation):
                continue
            then = operation.after(state)
            if then is IMPOSSIBLE or self.rank.get(operation, ranked) != ranked:
                continue
            if operation in self.rank:
                yield self.with_readers(then, ranked + 1, done)
            elif (operation.kind != "delete" or operation.answered is not None
                  or operation.expected is not ANY):
                yield self.with_readers(then, ranked, done | {operation})
            elif floats:
                floats = False
                yield self.with_readers(then, ranked, done | {operation})

    def somebody_saw_nothing(self, done):
        return any((o.seen if o.leaves_all() else o.expected) is ABSENT
                   for o in self.pending if o not in done)

    def with_readers(self, state, ranked, done):
        """What only looks does so as soon as it can: later is never better."""
        return state, ranked, done | {o for o in self.pending if o.leaves_all() and o not in done
                                      and o.after(state) is not IMPOSSIBLE}


def find_violation_of_one(operations):
    moments = []
    operations = relevant(operations)
    for operation in operations:
        moments.append((operation.called, 0, operation))  # calls come first: they overlap
        if operation.answered is not None:
            moments.append((operation.answered, 1, operation))
    moments.sort(key=lambda moment: moment[:2])
    search = Search(operations)
    for _, is_answer, operation in moments:
        if not is_answer:
            search.call(operation)
        elif not search.answer(operation):
            states = sorted({str(state) for state, _, _ in search.configurations})
            return f"no order explains {operation}; possible before it: {states}"
    return None


def find_violation(operations):
    """None, or a sentence about the first variable that no order explains."""
    by_key = collections.defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    for key, own in sorted(by_key.items()):
        violation = find_violation_of_one(own)
        if violation:
            return f"{key}: {violation}"
    return None


def find_disorder(operations):
    """Indexes of writes must go up with real time, whatever variable they are of."""
    writes = [o for o in operations if o.kind != "get" and o.answered is not None and not o.conflict]
    ended = sorted(writes, key=lambda o: o.answered)
    newest, at = None, 0
    for write in sorted(writes, key=lambda o: o.called):
        while at < len(ended) and ended[at].answered < write.called:
            if newest is None or ended[at].index > newest.index:
                newest = ended[at]
            at += 1
        if newest is not None and write.index <= newest.index:
            return f"{write} began after {newest} had ended"
    return None
