"""Do two agents read job files alike, also broken ones? Asks both to parse mutants of given files.

usage: mutants.py ADDRESS ADDRESS FOLDER [seed] [count]

ADDRESS is an agent's HTTP address ("http://127.0.0.1:4646"): Nomad's and ours, or two versions of
ours. FOLDER has job files (*.hcl). Each mutant is a file with one to three pieces deleted, repeated
or replaced; what both take must come out equal, what one refuses the other must refuse, with the
same set of diagnostics. Differences are printed with the number of the mutant, which the seed
makes again (`mutants.py … seed count` prints the same ones); exits 1 if there are any.
"""
import glob
import json
import os
import random
import re
import sys
import urllib.error
import urllib.request

# Values and other pieces that a file may get in place of its own.
values = ['${1+2}', '"a"', 'true', 'null', '[1,2]', '{a=1}', 'upper("x")', '1e3', '0x10', '-1', '"5m"',
          '"${var.x}"', '!true', 'a.b[0]', '<<EOF\nx\nEOF\n', '<<-EOF\n  x\n   y\n  EOF\n',
          '[for x in [1,2]: x*2]', '{for k,v in {a=1}: k=>v}', '"%{if true}a%{else}b%{endif}"', '""',
          '0', '1.5', '"1"', '"true"', '1 == 1 ? 2 : 3', 'try(1,2)', '"$${x}"', '"%%{x}"',
          'split(",","a,b")', 'jsondecode("{\\"a\\":1}")', 'format("%s-%03d","a",5)', 'local.x',
          '"${NOMAD_PORT_http}"']
pieces = values + ['meta {\n a = "b"\n}\n', '# c\n', '/* c */', '\n\n', '}', '{', '"', ',', '=', '...',
                   'env { A = 1 }\n', 'é', '\t', '\r\n',
                   'constraint {\n attribute = "${attr.kernel.name}"\n value = "linux"\n}\n',
                   'dynamic "task" {\n for_each = ["a"]\n content {\n driver = "x"\n }\n}\n']
names = ['affinity', 'args', 'attempts', 'attribute', 'auto_revert', 'canary', 'change_mode',
         'check_restart', 'command', 'count', 'cpu', 'datacenters', 'delay', 'destination', 'driver',
         'env', 'grace', 'health_check', 'host_network', 'interval', 'kill_signal', 'kill_timeout',
         'leader', 'limit', 'max_parallel', 'memory', 'mode', 'name', 'node_pool', 'operator', 'path',
         'port', 'priority', 'provider', 'region', 'size', 'source', 'spread', 'static', 'tags',
         'timeout', 'to', 'type', 'uid', 'unlimited', 'user', 'value', 'vault', 'volume', 'weight']


def mutant(text, chance):
    tokens = re.findall(r'[A-Za-z_][A-Za-z_0-9]*|\d+|\s+|"[^"\n]*"|.', text, re.S)

    def place(pattern):
        found = [at for at, token in enumerate(tokens) if re.match(pattern, token)]
        return chance.choice(found) if found else 0

    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if len(tokens) < 4:
            break
        at = chance.randrange(len(tokens))
        how = chance.randrange(8)
        if how == 0:
            del tokens[at]
        elif how == 1:
            tokens.insert(at, chance.choice(tokens))
        elif how == 2:
            tokens[at] = chance.choice(pieces)
        elif how == 3:
            tokens.insert(at, chance.choice(pieces))
        elif how == 4:
            tokens[place(r'[A-Za-z_]')] = chance.choice(names)
        elif how == 5:
            tokens[place(r'"|\d')] = chance.choice(values)
        elif how == 6:
            tokens.insert(place(r'\s*\n') + 1, f"{chance.choice(names)} = {chance.choice(values)}\n")
        else:
            begin, end = sorted((place(r'\s*\n'), place(r'\s*\n')))
            if end - begin < 200:
                del tokens[begin:end]
    return "".join(tokens)


def parse(address, text, canonicalize):
    """(status, the job or the set of diagnostics)"""
    body = json.dumps({"JobHCL": text, "Canonicalize": canonicalize}).encode()
    request = urllib.request.Request(address + "/v1/jobs/parse", data=body, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refusal:
        said = refusal.read().decode(errors="replace").removeprefix("Failed to parse job: ")
        return refusal.code, frozenset(re.findall(r"^input\.hcl:\d+,\d+", said, re.M)) or said


def first_difference(one, other, path=""):
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(set(one) | set(other)):
            if one.get(key, ...) != other.get(key, ...):
                return first_difference(one.get(key, "(none)"), other.get(key, "(none)"),
                                        f"{path}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (left, right) in enumerate(zip(one, other)):
            if left != right:
                return first_difference(left, right, f"{path}[{at}]")
    return f"{path}: {str(one)[:200]!r} and {str(other)[:200]!r}"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    one, other, folder = sys.argv[1:4]
    seed, count = (int(word) for word in (sys.argv[4:] + ["1", "1000"][len(sys.argv[4:]):]))
    chance = random.Random(seed)
    files = sorted(glob.glob(os.path.join(folder, "*.hcl")))
    texts = [open(path, encoding="utf8", errors="replace").read() for path in files]
    taken = refused = different = 0
    for number in range(count):
        at = chance.randrange(len(files))
        text = mutant(texts[at], chance)
        canonicalize = chance.random() < 0.5
        answers = [parse(address, text, canonicalize) for address in (one, other)]
        if answers[0] != answers[1]:
            different += 1
            print(f"mutant {number} of {os.path.basename(files[at])}: "
                  f"{answers[0][0]} and {answers[1][0]}: "
                  f"{first_difference(answers[0][1], answers[1][1])}")
        elif answers[0][0] == 200:
            taken += 1
        else:
            refused += 1
    print(f"seed {seed}: {taken} taken alike, {refused} refused alike, {different} different")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
