"""allowed.txt: what the rules let pass, one "rule: subject  # reason" a line. It only shrinks: an
entry that nothing needs any more is an error, as is one without a reason. `tidy.py ROOT --settle`
drops those, and takes along the entries of files that have moved to another folder."""
import os
import re

RULES = ("include", "deciding", "card", "fields", "folder", "mirror", "message", "unused")


class Allowed:
    def __init__(self, text, root=None):
        self.entries, self.used, self.wrong = {}, set(), []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.startswith("#"):
                continue
            entry = re.fullmatch(r"(\w+): (\S.*?)  # (\S.*)", line)
            if not entry or entry[1] not in RULES:
                self.wrong.append(f"test/tidy/allowed.txt:{number}: not \"rule: subject  # reason\": {line}")
                continue
            self.entries[entry[1], entry[2]] = (number, entry[3])
            for named in re.findall(r"\btest/[\w/]+\.\w+", entry[3]) if root else ():
                if not os.path.exists(os.path.join(root, named)):
                    self.wrong.append(f"test/tidy/allowed.txt:{number}: there is no {named}")

    def __contains__(self, entry):
        self.used.add(entry)
        return entry in self.entries

    def folder_limit(self, folder, most):
        """How many files `folder` may have: an entry "folder: F N" says N, and that it has to shrink."""
        for rule, subject in self.entries:
            if rule == "folder" and subject.rsplit(" ", 1)[0] == folder:
                self.used.add((rule, subject))
                return int(subject.rsplit(" ", 1)[1])
        return most

    def needless(self):
        return [f"test/tidy/allowed.txt:{number}: nothing needs \"{rule}: {subject}\" any more: remove it"
                for (rule, subject), (number, _) in self.entries.items() if (rule, subject) not in self.used]

    def settled(self, text):
        """`text` without the entries that nothing needs; those of files that have moved name them anew."""
        moved = {}
        for rule, subject in self.entries.keys() - self.used:
            name = os.path.basename(subject)
            now = [other for r, other in self.used - self.entries.keys()
                   if r == rule and os.path.basename(other) == name]
            moved[f"{rule}: {subject}  # "] = f"{rule}: {now[0]}  # " if len(now) == 1 else None
        lines = []
        for line in text.split("\n"):
            old = next((entry for entry in moved if line.startswith(entry)), None)
            if old is None:
                lines.append(line)
            elif moved[old]:
                lines.append(line.replace(old, moved[old]))
        return "\n".join(lines)


def self_test():
    moving = "mirror: a/x.cpp  # why\nmirror: a/y.cpp  # why\nmirror: a/z.cpp  # why\n"
    allowed = Allowed(moving)
    if ("mirror", "a/z.cpp") not in allowed or ("mirror", "b/x.cpp") in allowed \
            or allowed.settled(moving) != "mirror: b/x.cpp  # why\nmirror: a/z.cpp  # why\n":
        return "files that have moved"
    allowed = Allowed("# comment\n\ncard: a  # why\ncard: b  # why\ncard: c\nfolder: actors/x 50  # why\n")
    if ("card", "a") not in allowed or ("card", "x") in allowed or len(allowed.wrong) != 1:
        return "the allow-list"
    if allowed.folder_limit("actors/x", 40) != 50 or allowed.folder_limit("actors/y", 40) != 40:
        return "limits of folders"
    return None if len(allowed.needless()) == 1 else "needless entries"
