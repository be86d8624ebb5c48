"""Deciding folders have no clock, no thread, no file and no random device: time and randomness are
arguments, I/O is somebody else's. The files in them that do things are in allowed.txt with a reason."""
import os
import re

FOLDERS = ("access", "artifact/rules", "cluster", "identity", "jobspec/validate", "keyring", "raft", "scheduler",
           "security", "state", "template/change", "workload")

# In folders that also do things.
FILES = tuple(f"runtime/{name}" for name in (
    "audit/chain", "audit/event", "audit/filter", "audit/verify",
    "docker/container_machine", "docker/engine_answers", "docker/engine_machine", "docker/health_machine",
    "docker/image_machine", "docker/image_name", "docker/infra_machine", "docker/log_stream",
    "network/cni_config", "network/firewall", "network/name_files", "network/network_record",
    "network/port_mappings", "plugin/declared"))

RULES = [(re.compile(pattern), why) for pattern, why in (
    (r"_clock\s*::\s*now\b|(?<!\w)(?:std)?::time\s*\(|\b(?:clock_gettime|gettimeofday|timespec_get)\b",
     "reads a clock"),
    (r"\bsleep_(?:for|until)\b|\bnanosleep\b", "sleeps"),
    (r"\bstd::(?:j?thread|(?:\w+_)?mutex|condition_variable\w*|(?:lock|shared|unique|scoped)_(?:guard|lock)"
     r"|atomic\w*|async|future|promise|once_flag|call_once|(?:counting|binary)_semaphore|latch|barrier)\b",
     "knows threads"),
    (r"#include <(?:thread|mutex|shared_mutex|condition_variable|atomic|future|semaphore|latch|barrier|stop_token)>",
     "knows threads"),
    (r"#include <(?:fstream|iostream|cstdio|stdio\.h|unistd\.h|fcntl\.h|sys/\w+\.h|netinet/\w+\.h|arpa/\w+\.h"
     r"|poll\.h|signal\.h|dirent\.h)>", "does I/O"),
    (r"(?<![\w>])::(?:open(?:at)?|creat|p?read|p?write|close|socket|connect|accept|send|recv|fsync"
     r"|fdatasync|unlink|rename|mkdir|stat|lstat|fstat|poll|kill|fork|mmap)\s*\(", "does I/O"),
    (r"(?<![\w.:>])(?:fopen|openat|socket|fork)\s*\(", "does I/O"),
    (r"\bstd::filesystem::(?!path\b)|\bnamespace \w+ = std::filesystem\b|#include \"runtime/(?:storage|host|net)/",
     "does I/O"),
    (r"\brandom_device\b|\brandombytes_\w+|\bRAND_bytes\b|\bgetrandom\b", "draws random numbers"),
    (r"\b(?:secure_)?getenv\b|\bsetenv\b", "reads the environment"),
)]

HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^\s()\\]*)\(.*?\)\1"|(?<!#include )"(?:\\.|[^"\\\n])*"'
                    r"|\b\d(?:'?\w)*|'(?:\\.|[^'\\\n])+'", re.S)


def code_of(text):
    """`text` with the comments and strings blanked, line by line."""
    return HIDDEN.sub(lambda hidden: hidden[0] if hidden[0][0].isdigit() else re.sub(r"[^\n]", " ", hidden[0]), text)


def folder_of(path):
    """The deciding folder that the file is in, or for one of FILES its folder; None if it is of neither."""
    for folder in FOLDERS:
        if path.startswith(f"runtime/{folder}/"):
            return folder
    return os.path.dirname(path)[len("runtime/"):] if path[:-4] in FILES else None


def is_deciding(path):
    return folder_of(path) is not None


def check(path, text):
    """(line number, what a deciding file may not do)."""
    if not is_deciding(path):
        return
    for number, line in enumerate(code_of(text).split("\n"), 1):
        for rule, why in RULES:
            if rule.search(line):
                yield number, f"a deciding file {why}"


def self_test():
    bad = ["auto a = std::chrono::steady_clock::now();", "long t = ::time(nullptr);", "clock_gettime(0, &t);",
           "std::thread worker;", "std::mutex m;", "#include <fstream>", "int f = ::open(p, 0);",
           "int s = socket(1, 2, 3);", "std::random_device device;", "getenv(\"HOME\");",
           "std::filesystem::exists(p);", "#include \"runtime/storage/raft_log.hpp\"",
           "std::atomic<int> a;", "randombytes_buf(a, 1);"]
    for line in bad:
        if not list(check("runtime/cluster/x.cpp", line)):
            return f"nothing found in {line!r}"
        if list(check("runtime/net/x.cpp", line)):
            return f"refused outside of deciding folders: {line!r}"
    good = ["// std::mutex", 'log("::time(");', "auto p = std::filesystem::path{raw};", "log.write(x);",
            "draft.time();", "read(from.getBody());", "sync::open(x);", "const auto n = 10'000; // getenv"]
    for line in good:
        if list(check("runtime/scheduler/placement/x.cpp", line)):
            return f"a good line was refused: {line!r}"
    return None
