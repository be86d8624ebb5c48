"""Functions that only tests call, or nobody.

Found by their names: a name that a header of runtime/, actors/ or cli/ declares as a function, and that no
source of the product says anywhere but where it is declared and defined. A name that is also somebody else's
(size, take) is never found; what is found is certain enough to be deleted, or to be listed in allowed.txt with
the reason why tests have it.
"""
import re

PRODUCT = ("runtime/", "actors/", "cli/", "subprojects/")
# What the language, a library or a concept calls by name.
BY_OTHERS = {"main", "inspect", "begin", "end", "what", "operator", "tag_invoke", "get_return_object", "await_ready",
             "await_resume", "await_suspend", "unhandled_exception", "initial_suspend", "final_suspend"}
NO_FUNCTIONS = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "alignas", "alignof", "static_assert",
                "noexcept", "requires", "catch", "defined", "assert", "explicit", "throw", "delete", "new", "co_return"}
# A line that declares or defines a function: attributes, a type, perhaps classes, the name.
DECLARES = re.compile(
    r"^\s*(?:(?:inline|static|constexpr|consteval|virtual|friend|explicit|extern|template<[^>]*>|\[\[\w+\]\])\s+)*"
    r"(?:const\s+)?[A-Za-z_][\w:]*(?:<[^;={}()]*>)?(?:::\w+)*(?:\s*[&*]+\s*|\s+(?:const\s*)?[&*]*\s*)"
    r"(?:[A-Za-z_]\w*(?:<[^;={}()]*>)?::)*\b(?P<name>[A-Za-z_]\w*)\(")


def code_of(text):
    """Without comments, and without what stands in texts."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def declared_in(line):
    """The function that a line declares or defines, or None."""
    found = DECLARES.match(line)
    if not found or found["name"] in NO_FUNCTIONS:
        return None
    if re.match(r"\s*(return|co_return|throw|else|case|delete|new|using|typedef|goto)\b", line):
        return None
    return found["name"]


def only_declared(texts):
    """Name -> where it is declared, of the functions of headers whose name nobody in the product says otherwise."""
    declared, used = {}, set()
    for path, text in texts.items():
        if not path.startswith(PRODUCT):
            continue
        for number, line in enumerate(code_of(text).split("\n"), 1):
            name = declared_in(line)
            if name and path.endswith(".hpp") and path.startswith(PRODUCT[:3]):
                declared.setdefault(name, f"{path}:{number}")
            words = re.findall(r"[A-Za-z_]\w*", line)
            if name:
                words.remove(name)
            used.update(words)
    return {name: at for name, at in declared.items() if name not in used | BY_OTHERS}


def check(texts, allowed):
    wrong = []
    for name, at in sorted(only_declared(texts).items()):
        path = at.split(":")[0]
        if ("unused", f"{path} {name}") not in allowed:
            wrong.append(f"{path}: only tests call {name}, or nobody ({at})")
    return wrong


def self_test():
    texts = {
        "runtime/a/a.hpp": "int used();\nconst std::string& dead(int a);\nResult<std::vector<int>> gone();  // dead()\n"
                           "bool is_dead() const { return true; }\nint spoken() ;\n",
        "runtime/a/a.cpp": "int used() {\n  return spoken();\n}\nconst std::string& A::dead(int a) {\n}\nint b = used();\n",
        "test/a_test.cpp": "dead(1); gone();",
    }
    found = set(only_declared(texts))
    return None if found == {"dead", "gone", "is_dead"} else f"found {found}"
