// What of others' text reaches a terminal.
#include "cli/output/terminal_text.hpp"

#include <sstream>

#include <doctest/doctest.h>

#include "cli/output/layout.hpp"

using namespace nomad::cli;

namespace {

/// What comes of `pieces`, each written by itself.
std::string filtered(std::initializer_list<std::string_view> pieces) {
  std::stringbuf shown;
  TerminalFilter filter{shown};
  std::ostream out{&filter};
  for (const auto piece : pieces)
    out << piece;
  out << std::flush;
  return shown.str();
}

struct Colors {
  Colors() { set_color(true); }

  ~Colors() { set_color(false); }
};

}  // namespace

TEST_CASE("terminal_text: control characters are shown, lines and tabs are kept") {
  CHECK(filtered({"a\tb\n"}) == "a\tb\n");
  CHECK(filtered({"\033]0;title\a"}) == "\\x1b]0;title\\x07");
  CHECK(filtered({"\033[31mred\033[0m"}) == "\\x1b[31mred\\x1b[0m");
  CHECK(filtered({"a\rb\b\x7f"}) == "a\\x0db\\x08\\x7f");
  CHECK(filtered({"\xc2\x9b"
                  "2J \xff"})
        == "\\u009b2J \\xff");
  CHECK(filtered({"gr\xc3\xbc\xc3\x9f"}) == "gr\xc3\xbc\xc3\x9f");
}

TEST_CASE("terminal_text: characters that come in pieces stay whole") {
  CHECK(filtered({"\xc3", "\xbc", "\xe2", "\x82", "\xac"}) == "\xc3\xbc\xe2\x82\xac");
  CHECK(filtered({"\xc2", "\x9b"}) == "\\u009b");
  CHECK(filtered({"end\xe2\x82"}) == "end\\xe2\\x82");
  CHECK(filtered({"\xff", "x"}) == "\\xffx");
}

TEST_CASE("terminal_text: our colours pass where colour is on, and no other sequence") {
  const Colors on;
  CHECK(filtered({title("web")}) == "\033[1mweb\033[0m");
  CHECK(filtered({colored("x\033[2J", "red")}) == "\033[31mx\\x1b[2J\033[0m");
  CHECK(filtered({"\033", "[3", "1mred"}) == "\033[31mred");
  CHECK(filtered({"\033", "[2J"}) == "\\x1b[2J");
  CHECK(filtered({"\033[8mhidden", "\033"}) == "\\x1b[8mhidden\\x1b");
}

TEST_CASE("terminal_text: a cell is one line") {
  CHECK(one_line("a\nb\tc\033[0m") == "a\\nb\\tc\\x1b[0m");
  CHECK(one_line("\n\n") == "\\n\\n");
}
