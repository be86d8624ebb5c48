// The words of a line that is being typed, and what they are to a command.
#include "cli/completion/typed_line.hpp"

#include <doctest/doctest.h>

using namespace nomad::cli;
using Words = std::vector<std::string>;

TEST_CASE("typed line: white space ends a word, and behind it the next one is empty") {
  const auto line = read_line("nomadctl  job\tsta");
  CHECK(line.words == Words{"nomadctl", "job"});
  CHECK(line.typed == "sta");
  CHECK(read_line("nomadctl ").typed.empty());
  CHECK(read_line("nomadctl ").words == Words{"nomadctl"});
  CHECK(read_line("").words.empty());
}

TEST_CASE("typed line: quotes and backslashes keep white space, and are not of the word") {
  CHECK(read_line(R"(n 'a b' "c \" d" e\ f 'g\h' "i)").words
        == Words{"n", "a b", "c \" d", "e f", "g\\h"});
  CHECK(read_line(R"(n 'a b)").typed == "a b");
  CHECK(read_line("n ''").typed.empty());
  CHECK(read_line("n a\\").typed == "a");
}

TEST_CASE("typed line: flags take the value behind them, if they take one") {
  const CommandShape shape{.usage = "job run [options] <path>",
                           .about = "",
                           .flags = {{"detach", "", false}, {"var", "", true}}};
  const Words words{"-detach", "-var", "a=b", "--var=c=d", "-unknown", "file", "--", "-var"};
  const auto given = read_words(shape, words);
  using Flags = std::vector<std::pair<std::string, std::string>>;
  CHECK(given.flags == Flags{{"detach", ""}, {"var", "a=b"}, {"var", "c=d"}, {"unknown", ""}});
  CHECK(given.words == Words{"file"});
  CHECK(given.open_flag == "var");
  CHECK(given.has_flag("detach"));
  CHECK_FALSE(given.has_flag("file"));
}
