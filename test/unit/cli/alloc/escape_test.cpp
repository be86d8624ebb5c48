// What the escape character of `alloc exec` does, wherever the reads cut the input.
#include <doctest/doctest.h>

#include "cli/alloc/escape_filter.hpp"

using nomad::cli::EscapeFilter;

namespace {

struct Fed {
  std::string out;
  bool closed;

  bool operator==(const Fed&) const = default;
};

/// Feeds `typed` in pieces of `size` and ends the input.
Fed feed(std::string_view typed, std::size_t size = 1000, std::optional<char> escape = '~') {
  EscapeFilter filter{escape};
  Fed fed{};
  for (; !typed.empty(); typed.remove_prefix(std::min(size, typed.size())))
    fed.out += filter.feed(typed.substr(0, size));
  fed.out += filter.rest();
  fed.closed = filter.is_closed();
  return fed;
}

}  // namespace

TEST_CASE("escape_filter: the escape character counts at the beginning of a line") {
  for (const std::size_t size : {1, 2, 3, 1000}) {
    CHECK(feed("ls -l\n", size) == Fed{"ls -l\n", false});
    CHECK(feed("~.", size) == Fed{"", true});
    CHECK(feed("ls\r~.more", size) == Fed{"ls\r", true});
    CHECK(feed("ls\n~.", size) == Fed{"ls\n", true});
    CHECK(feed("x~.\n", size) == Fed{"x~.\n", false});
    CHECK(feed("~~.\n", size) == Fed{"~.\n", false});
    CHECK(feed("~/bin\n~.", size) == Fed{"~/bin\n", true});
    CHECK(feed("~\n~.", size) == Fed{"~\n", true});
    CHECK(feed("~", size) == Fed{"~", false});
    CHECK(feed("\n\n~", size) == Fed{"\n\n~", false});
  }
}

TEST_CASE("escape_filter: another character, or none") {
  CHECK(feed("%.", 1, '%') == Fed{"", true});
  CHECK(feed("~.", 1, '%') == Fed{"~.", false});
  CHECK(feed("~.\n~.", 1, std::nullopt) == Fed{"~.\n~.", false});
}
