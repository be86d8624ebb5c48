"""Compares answers: what several runs of the real one agree on, and where another program differs."""
import fnmatch

EITHER = "either"  # the only member of what differed between runs of the real one: all that was seen


def is_either(value):
    return isinstance(value, dict) and list(value) == [EITHER]


def agreed(one, other):
    """What two runs have in common; where they differ, both."""
    if one == other:
        return one
    if isinstance(one, dict) and isinstance(other, dict) and not is_either(one) and not is_either(other):
        return {key: agreed(one.get(key), other.get(key)) for key in [*one, *(key for key in other if key not in one)]}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [agreed(left, right) for left, right in zip(one, other)]
    seen = []
    for value in (*(one[EITHER] if is_either(one) else [one]), *(other[EITHER] if is_either(other) else [other])):
        if value not in seen:
            seen.append(value)
    return {EITHER: seen}


def differences(real, ours, is_known=lambda path, real, ours: False, path=""):
    """Where `ours` is nothing that the real one was seen to answer, nor known to differ: (path, real, ours)."""
    if is_either(real):
        fits = any(not differences(each, ours, is_known, path) for each in real[EITHER])
        return [] if fits or is_known(path, real, ours) else [(path, real, ours)]
    if isinstance(real, dict) and isinstance(ours, dict):
        keys = [*real, *(key for key in ours if key not in real)]
        return [found for key in keys for found in differences(real.get(key), ours.get(key), is_known, f"{path}/{key}")]
    if isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        return [found for at, (left, right) in enumerate(zip(real, ours))
                for found in differences(left, right, is_known, f"{path}/{at}")]
    return [] if real == ours or is_known(path, real, ours) else [(path, real, ours)]


class Known:
    """The differences that are known: each with where it is seen, what the two answer (none: anything), and why; those that
    are faults of ours are "open"."""

    def __init__(self, rules):
        self.rules = rules
        self.used = set()

    def explains(self, name, path, real, ours):
        for number, rule in enumerate(self.rules):
            if (fnmatch.fnmatchcase(f"{name}{path}", rule["where"])
                    and rule.get("real") in (None, real) and rule.get("ours") in (None, ours)):
                self.used.add(number)
                return True
        return False

    def needless(self):
        """Rules that have explained nothing."""
        return [rule["where"] for number, rule in enumerate(self.rules) if number not in self.used]
