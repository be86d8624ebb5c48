"""How long functions are: from the line on which one begins to that of its closing brace, lambdas
included. Reads what clang-format has formatted, where the body of a function opens with " {"."""
import re

MAX_LINES = 70
# Functions above that in the tree. More fail; when there are fewer, lower it.
MOST_LONG = 7

TOKENS = re.compile(r"""
    (?P<skipped> //[^\n]* | /\*.*?\*/ | ^[ ]*\#(?:\\\n|[^\n])*      # comments, preprocessor lines
               | R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"            # raw strings
               | "(?:\\.|[^"\\\n])*" | \b\d(?:'?\w)* | '(?:\\.|[^'\\\n])+' )
  | (?P<open> \{ ) | (?P<close> \} ) | (?P<end> ; ) | (?P<access> \b(?:public|private|protected): )
""", re.X | re.S | re.M)
SCOPE = re.compile(r"(?:(?:inline|typedef|static|constexpr|const)\s+)*"
                   r"(?:namespace|class|struct|union|enum|extern)\b")
SIGNATURE_ENDS = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|mutable|&&?|->.*)\s*)*$", re.S)


def without_template(head):
    """`head` without the template parameters that it begins with."""
    while re.match(r"template\s*<", head):
        depth = 0
        for at, letter in enumerate(head):
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if letter == ">" and depth == 0:
                break
        head = head[at + 1:].lstrip()
    return head


def kind_of(head):
    """What a brace opens at the level of namespaces and classes, after the text `head`."""
    statement = without_template(head.strip())
    if head and not head[-1].isspace():
        return "value"  # a_{b}: a member's initializer, or a constant
    if statement.endswith("="):
        return "value"
    if SCOPE.match(statement) and not SIGNATURE_ENDS.search(statement):
        return "scope"
    return "function" if "(" in statement else "scope"


def functions(text):
    """(first line, lines, first line's text) of each function that has a body."""
    stack, head, begin, last = [], "", None, 0

    def see(piece, at):
        nonlocal head, begin
        if begin is None and piece.strip():
            begin = at + len(piece) - len(piece.lstrip())
        head += piece

    for token in TOKENS.finditer(text):
        inside = any(kind != "scope" for kind, _ in stack)
        if not inside:
            see(text[last:token.start()], last)
        last = token.end()
        if token["open"]:
            kind = "inner" if inside else kind_of(head)
            stack.append((kind, begin if begin is not None else token.start()))
            if kind == "scope":
                head, begin = "", None
        elif token["close"] and stack:
            kind, start = stack.pop()
            if kind == "function":
                first = text.count("\n", 0, start) + 1
                yield first, text.count("\n", start, token.end()) + 1, text[start:].split("\n", 1)[0]
            if kind in ("function", "scope"):
                head, begin = "", None
            elif kind == "value":
                head += "{}"
        elif (token["end"] or token["access"]) and not inside:
            head, begin = "", None
        elif token["skipped"] and not inside and not token[0].startswith(("/", "#", " ")):
            see(token[0], token.start())


def too_long(path, text):
    """Warnings of the functions that are too long."""
    return [f"{path}:{first}: {lines} lines: {head}"
            for first, lines, head in functions(text) if lines > MAX_LINES]


SELF_TEST = """\
// A comment { with a brace
namespace x {
struct S {
  int a{1};
  explicit S(int b) : a{b}, c_{"}"} {
    run([] {
      return '{';
    });
  }
  const char* text() const { return R"(})"; }
};
template <typename T, typename U = std::vector<T>>
auto f(T t) -> U {
  if (t) {
    g();
  }
}
const std::vector<int> table = {
    1, 2};
enum class E { a, b };
}  // namespace x
"""


def self_test():
    found = [(first, lines) for first, lines, _ in functions(SELF_TEST)]
    if found != [(5, 5), (10, 1), (12, 6)]:
        return f"functions of the sample: {found}"
    long = "void f() {\n" + "  g();\n" * MAX_LINES + "}\n"
    return None if len(too_long("x.cpp", long)) == 1 else "a long function was not seen"
