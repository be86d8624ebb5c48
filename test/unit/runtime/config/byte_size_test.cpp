#include "runtime/config/byte_size.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("byte sizes: numbers with units of a thousand and of 1,024, whatever the case") {
  const std::pair<std::string_view, std::uint64_t> sizes[] = {{"0", 0},
                                                              {"17", 17},
                                                              {"1M", 1'000'000},
                                                              {"1.5 mb", 1'500'000},
                                                              {"512KiB", 524288},
                                                              {"2 GB", 2'000'000'000},
                                                              {" 1 mib ", 1'048'576},
                                                              {"9b", 9}};
  for (const auto& [text, bytes] : sizes) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(config::parse_byte_size(text).value() == bytes);
  }
}

TEST_CASE("byte sizes: anything else is refused") {
  for (const auto* text : {"", "M", "1 X", "-1M", "1e300", "nan", "1M 2"}) {
    CAPTURE(text);
    CHECK(config::parse_byte_size(text).has_error());
  }
}

TEST_CASE("byte sizes: are shown as people read them") {
  CHECK(config::show_byte_size(999) == "999 B");
  CHECK(config::show_byte_size(1'000'000) == "1.0 MB");
  CHECK(config::show_byte_size(12'345) == "12 kB");
  CHECK(config::show_byte_size(2'500'000'000) == "2.5 GB");
}
