"""Sums what the test programs of one `meson test` run report, and closes with "N passed, N failed".

usage: count_tests.py TESTLOG FAILED   (FAILED is 1 when meson saw a program fail)

doctest programs print "[doctest] test cases: 3 | 2 passed | 1 failed | 0 skipped"; Python ones
print "3 passed, 0 failed[, 1 skipped]". A program that failed without counting a failure (it
crashed, or timed out) counts as one failed test.
"""
import re
import sys

log, failed_programs = open(sys.argv[1], errors="replace").read(), int(sys.argv[2])
passed = failed = skipped = 0
for m in re.finditer(r"test cases:\s*\d+\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed(?:\s*\|\s*(\d+) skipped)?", log):
    passed, failed, skipped = passed + int(m[1]), failed + int(m[2]), skipped + int(m[3] or 0)
for m in re.finditer(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", log, re.M):
    passed, failed, skipped = passed + int(m[1]), failed + int(m[2]), skipped + int(m[3] or 0)
if failed_programs and not failed:
    failed = 1
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
