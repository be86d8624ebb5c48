"""Writes abi.hpp: the template with a sum of the SDK's headers. usage: make_abi.py OUT TEMPLATE HEADER..."""
import hashlib
import sys

out, template = sys.argv[1:3]
total = hashlib.sha256()
for header in sorted(sys.argv[2:]):
    with open(header, "rb") as f:
        total.update(f.read())
with open(template) as f:
    made = f.read().replace("@sum@", total.hexdigest()[:12])
with open(out, "w") as f:
    f.write(made)
