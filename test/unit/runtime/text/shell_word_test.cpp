// shell_word: a shell makes the same text of it.
#include "runtime/text/shell_word.hpp"

#include <cstdio>
#include <memory>

#include <doctest/doctest.h>

using namespace nomad;

namespace {

/// What a shell prints of the word, without changes.
std::string read_by_shell(const std::string& word) {
  const std::string line = "printf %s " + word;
  const std::unique_ptr<FILE, int (*)(FILE*)> shell{popen(line.c_str(), "r"), pclose};
  REQUIRE(shell);
  std::string out(256, '\0');
  out.resize(std::fread(out.data(), 1, out.size(), shell.get()));
  return out;
}

}  // namespace

TEST_CASE("shell_word: the shell makes the same text of it") {
  for (const std::string text : {"", "web.nomad.hcl", "a b", "it's", "$HOME `id` \"x\"", "a\nb",
                                 "*", "~", "-var=k=[\"a\"]", "\\", "!x"}) {
    CAPTURE(text);
    CHECK(read_by_shell(shell_word(text)) == text);
  }
}

TEST_CASE("shell_word: what needs no quotes gets none") {
  CHECK(shell_word("-var=image=nginx:1.25") == "-var=image=nginx:1.25");
  CHECK(shell_word("it's") == "'it'\\''s'");
}
